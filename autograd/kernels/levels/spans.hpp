// Elementwise loops: one functor an operation, one loop for all.
#pragma once

#include "gradus/autograd/kernels/level.hpp"
#include "gradus/autograd/kernels/levels/math.hpp"

namespace gradus::kernels::GRADUS_LEVEL {

template <class T>
constexpr T kGeluSlope = static_cast<T>(1.595769121605730711759784);  // 2 sqrt(2 / pi)
template <class T>
constexpr T kGeluCubic = static_cast<T>(0.044715);

// How far from 0 x may be before e^-x overflows, and e^-2u of gelu's tanh form. The gradients of silu and
// gelu are 0 or 1 from there on, give or take 1e-35 (float) or 1e-302 (double).
template <class T>
constexpr T kSiluReach = sizeof(T) == 4 ? T(88) : T(708);
template <class T>
constexpr T kGeluTanhReach = sizeof(T) == 4 ? T(10) : T(21.1);

template <class T, class F>
void map(int64_t n, T* out, const T* x, F f) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) out[i] = f(x[i]);
}

// x, but no less than low: where the other factor is 0 long before, this keeps -inf * 0 from being NaN. NaN
// stays.
template <class T>
T at_least(T low, T x) {
  return x < low ? low : x;
}

template <class T>
T within(T bound, T x) {
  return at_least(-bound, x > bound ? bound : x);
}

// 2u = 2 sqrt(2 / pi) (x + 0.044715 x^3) of Hendrycks and Gimpel, "Gaussian error linear units" (2016): half
// of 1 + tanh(u) is sigmoid(2u), which costs less and keeps its digits on the left.
template <class T>
T gelu_tanh_2u(T x) {
  return kGeluSlope<T> * fused(kGeluCubic<T> * x * x, x, x);
}

// x * sigmoid(z) for x no less than some bound.
template <class T>
T gated(T x, T z) {
  return x / (T{1} + exp_(-z));
}

// The derivative of x * sigmoid(z) where e^-z is finite.
template <class T>
T gated_slope(T x, T z, T z_slope) {
  const T e = exp_within(-z), s = T{1} / (T{1} + e);
  return s * fused(x * z_slope, e * s, T{1});
}

// Flattened, as a call left in the loop would keep it from being vectorised.
template <class T, Unary kOp>
[[gnu::flatten]] void unary_span(int64_t n, T* out, const T* x) {
  map(n, out, x, [](T v) {
    if constexpr (kOp == Unary::neg) return -v;
    if constexpr (kOp == Unary::abs) return std::fabs(v);
    if constexpr (kOp == Unary::sign) return v > T{0} ? T{1} : v < T{0} ? T{-1} : T{0};
    if constexpr (kOp == Unary::exp) return exp_(v);
    if constexpr (kOp == Unary::log) return log_(v);
    if constexpr (kOp == Unary::sqrt) return std::sqrt(v);
    if constexpr (kOp == Unary::rsqrt) return T{1} / std::sqrt(v);
    if constexpr (kOp == Unary::tanh) return tanh_(v);
    if constexpr (kOp == Unary::sigmoid) return sigmoid_(v);
    if constexpr (kOp == Unary::relu) return v < T{0} ? T{0} : v;
    if constexpr (kOp == Unary::gelu) return at_least(T{-40}, v) * normal_cdf(v, exp_(T(-0.5) * v * v));
    if constexpr (kOp == Unary::gelu_tanh) return gated(at_least(T{-100}, v), gelu_tanh_2u(v));
    if constexpr (kOp == Unary::silu) return gated(at_least(T{-1000}, v), v);
    if constexpr (kOp == Unary::sin) return std::sin(v);
    if constexpr (kOp == Unary::cos) return std::cos(v);
    if constexpr (kOp == Unary::erf) return erf_(v);
  });
}

template <class T, Binary kOp>
T binary_value(T a, T b) {
  if constexpr (kOp == Binary::add) return a + b;
  if constexpr (kOp == Binary::sub) return a - b;
  if constexpr (kOp == Binary::mul) return a * b;
  if constexpr (kOp == Binary::div) return a / b;
  if constexpr (kOp == Binary::pow) return std::pow(a, b);
  if constexpr (kOp == Binary::maximum) return a > b || a != a ? a : b;
  if constexpr (kOp == Binary::minimum) return a < b || a != a ? a : b;
  if constexpr (kOp == Binary::relu_grad) return b <= T{0} ? T{0} : a;
  if constexpr (kOp == Binary::gelu_grad) {
    const T e = exp_(T(-0.5) * b * b);
    const T pdf = e * static_cast<T>(0.398942280401432678);  // 1 / sqrt(2 pi)
    return a * fused(within(T{40}, b), pdf, normal_cdf(b, e));
  }
  if constexpr (kOp == Binary::gelu_tanh_grad) {
    const T x = within(kGeluTanhReach<T>, b);
    return a * gated_slope(x, gelu_tanh_2u(x), kGeluSlope<T> * fused(T{3} * kGeluCubic<T> * x, x, T{1}));
  }
  if constexpr (kOp == Binary::silu_grad) {
    const T x = within(kSiluReach<T>, b);
    return a * gated_slope(x, x, T{1});
  }
  if constexpr (kOp == Binary::tanh_grad) return a * (T{1} - b * b);
  if constexpr (kOp == Binary::sigmoid_grad) return a * (b * (T{1} - b));
}

template <class T, Binary kOp, Operands kOperands>
[[gnu::flatten]] void binary_span(int64_t n, T* out, const T* a, const T* b) {
  const T one = kOperands == Operands::a_single ? *a : *b;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (kOperands == Operands::both) out[i] = binary_value<T, kOp>(a[i], b[i]);
    if constexpr (kOperands == Operands::a_single) out[i] = binary_value<T, kOp>(one, b[i]);
    if constexpr (kOperands == Operands::b_single) out[i] = binary_value<T, kOp>(a[i], one);
  }
}

}  // namespace gradus::kernels::GRADUS_LEVEL
