// Elementwise loops: one functor an operation, one loop for all.
#pragma once

#include "gradus/autograd/kernels/level.hpp"
#include "gradus/autograd/kernels/levels/gates.hpp"
#include "gradus/autograd/kernels/levels/math.hpp"

namespace gradus::kernels::GRADUS_LEVEL {

template <class T, class F>
void map(int64_t n, T* out, const T* x, F f) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) out[i] = f(x[i]);
}

template <class T, Unary kOp>
T unary_value(T v) {
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
  if constexpr (kOp == Unary::gelu) return gelu(v);
  if constexpr (kOp == Unary::sin) return std::sin(v);
  if constexpr (kOp == Unary::cos) return std::cos(v);
  if constexpr (kOp == Unary::erf) return erf_(v);
}

// Flattened, as a call left in the loop would keep it from being vectorised.
template <class T, Unary kOp>
[[gnu::flatten]] void unary_span(int64_t n, T* out, const T* x) {
  if constexpr (kOp == Unary::gelu_tanh || kOp == Unary::silu) {
    gate_span<T, kOp>(n, out, x);
  } else {
    map(n, out, x, [](T v) { return unary_value<T, kOp>(v); });
  }
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
  if constexpr (kOp == Binary::gelu_grad) return a * gelu_slope(b);
  if constexpr (kOp == Binary::tanh_grad) return a * (T{1} - b * b);
  if constexpr (kOp == Binary::sigmoid_grad) return a * (b * (T{1} - b));
}

template <class T, Binary kOp, Operands kOperands>
void plain_span(int64_t n, T* out, const T* a, const T* b) {
  const T one = kOperands == Operands::a_single ? *a : *b;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (kOperands == Operands::both) out[i] = binary_value<T, kOp>(a[i], b[i]);
    if constexpr (kOperands == Operands::a_single) out[i] = binary_value<T, kOp>(one, b[i]);
    if constexpr (kOperands == Operands::b_single) out[i] = binary_value<T, kOp>(a[i], one);
  }
}

template <class T, Binary kOp, Operands kOperands>
[[gnu::flatten]] void binary_span(int64_t n, T* out, const T* a, const T* b) {
  if constexpr (kOp == Binary::gelu_tanh_grad) {
    gate_grad_span<T, Unary::gelu_tanh, kOperands>(n, out, a, b);
  } else if constexpr (kOp == Binary::silu_grad) {
    gate_grad_span<T, Unary::silu, kOperands>(n, out, a, b);
  } else {
    plain_span<T, kOp, kOperands>(n, out, a, b);
  }
}

}  // namespace gradus::kernels::GRADUS_LEVEL
