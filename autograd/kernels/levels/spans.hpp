// Elementwise loops: one functor an operation, one loop for all.
#pragma once

#include "gradus/autograd/kernels/level.hpp"
#include "gradus/autograd/kernels/levels/math.hpp"

namespace gradus::kernels::GRADUS_LEVEL {

template <class T>
constexpr T kGeluSlope = static_cast<T>(1.595769121605730711759784);  // 2 sqrt(2 / pi)
template <class T>
constexpr T kGeluCubic = static_cast<T>(0.044715);

template <class T, class F>
void map(int64_t n, T* out, const T* x, F f) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) out[i] = f(x[i]);
}

// A product with x that is -0 at x = -inf, where the other factor is 0.
template <class T>
T times_x(T x, T factor) {
  return factor == T{0} ? std::copysign(T{0}, x) : x * factor;
}

// (1 + tanh(u)) / 2 = sigmoid(2u), which costs less and keeps its digits on the left; 2u = 2 sqrt(2 / pi) (x + 0.044715
// x^3) of Hendrycks and Gimpel, "Gaussian error linear units" (2016).
template <class T>
T gelu_tanh_gate(T x) {
  return sigmoid_(kGeluSlope<T> * (x + kGeluCubic<T> * x * x * x));
}

template <class T, Unary kOp>
void unary_span(int64_t n, T* out, const T* x) {
  map(n, out, x, [](T v) {
    if constexpr (kOp == Unary::neg) return -v;
    if constexpr (kOp == Unary::abs) return std::fabs(v);
    if constexpr (kOp == Unary::sign) return v > T{0} ? T{1} : v < T{0} ? T{-1} : v == T{0} ? T{0} : v;
    if constexpr (kOp == Unary::exp) return exp_(v);
    if constexpr (kOp == Unary::log) return std::log(v);
    if constexpr (kOp == Unary::sqrt) return std::sqrt(v);
    if constexpr (kOp == Unary::rsqrt) return T{1} / std::sqrt(v);
    if constexpr (kOp == Unary::tanh) return tanh_(v);
    if constexpr (kOp == Unary::sigmoid) return sigmoid_(v);
    if constexpr (kOp == Unary::relu) return v < T{0} ? T{0} : v;
    if constexpr (kOp == Unary::gelu) return times_x(v, normal_cdf(v));
    if constexpr (kOp == Unary::gelu_tanh) return times_x(v, gelu_tanh_gate(v));
    if constexpr (kOp == Unary::silu) return times_x(v, sigmoid_(v));
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
    const T pdf = exp_(T(-0.5) * b * b) * static_cast<T>(0.398942280401432678);  // 1 / sqrt(2 pi)
    return a * (normal_cdf(b) + times_x(b, pdf));
  }
  if constexpr (kOp == Binary::gelu_tanh_grad) {
    const T s = gelu_tanh_gate(b), bend = s * (T{1} - s);
    const T slope = kGeluSlope<T> * (T{1} + T{3} * kGeluCubic<T> * b * b);
    return a * (s + (bend == T{0} ? T{0} : b * bend * slope));  // beyond the bend the slope may be infinite
  }
  if constexpr (kOp == Binary::silu_grad) {
    const T s = sigmoid_(b);
    return a * (s + times_x(b, s * (T{1} - s)));
  }
  if constexpr (kOp == Binary::tanh_grad) return a * (T{1} - b * b);
  if constexpr (kOp == Binary::sigmoid_grad) return a * (b * (T{1} - b));
}

template <class T, Binary kOp, Operands kOperands>
void binary_span(int64_t n, T* out, const T* a, const T* b) {
  const T one = kOperands == Operands::a_single ? *a : *b;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (kOperands == Operands::both) out[i] = binary_value<T, kOp>(a[i], b[i]);
    if constexpr (kOperands == Operands::a_single) out[i] = binary_value<T, kOp>(one, b[i]);
    if constexpr (kOperands == Operands::b_single) out[i] = binary_value<T, kOp>(a[i], one);
  }
}

}  // namespace gradus::kernels::GRADUS_LEVEL
