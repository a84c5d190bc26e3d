// Operations on single numbers. each() (array.hpp) applies them to arrays.
#pragma once

#include "gradus/autograd/reference/array.hpp"
#include "gradus/autograd/reference/dual.hpp"

namespace gradus::reference {

// -- two numbers
template <class T>
T add(T a, T b) {
  return a + b;
}
template <class T>
T sub(T a, T b) {
  return a - b;
}
template <class T>
T mul(T a, T b) {
  return a * b;
}
template <class T>
T div(T a, T b) {
  return a / b;
}
/// The larger one; NaN if one is. Equal ones share the derivative.
template <class T>
T maximum(T a, T b) {
  if (a == b) return T(0.5) * a + T(0.5) * b;
  return a > b || plain(a) != plain(a) ? a : b;
}
template <class T>
T minimum(T a, T b) {
  return -maximum(-a, -b);
}

// -- one number
template <class T>
T neg(T x) {
  return -x;
}
template <class T>
T rsqrt(T x) {
  return T(1) / sqrt(x);
}
/// max(x, 0) with derivative 0 at 0 (Nair and Hinton, 2010).
template <class T>
T relu(T x) {
  return x <= T(0) ? T(0) : x;
}
/// 1 / (1 + e^-x), written so that e^ does not overflow.
template <class T>
T sigmoid(T x) {
  return x < T(0) ? exp(x) / (T(1) + exp(x)) : T(1) / (T(1) + exp(-x));
}
/// x Phi(x) with the normal distribution's Phi(x) = erfc(-x / sqrt 2) / 2 (Hendrycks and Gimpel, arXiv
/// 1606.08415).
template <class T>
T gelu(T x) {
  return T(0.5) * x * erfc(-x * T(1 / std::numbers::sqrt2));
}
/// Its approximation x / 2 (1 + tanh u) = x sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3).
template <class T>
T gelu_tanh(T x) {
  const double k = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  return x * sigmoid(T(2 * k) * (x + T(0.044715) * x * x * x));
}
/// x sigmoid(x) (Elfwing et al., arXiv 1702.03118; Ramachandran et al., arXiv 1710.05941).
template <class T>
T silu(T x) {
  return x * sigmoid(x);
}
/// log(1 + e^(beta x)) / beta, and x itself where beta x is above the threshold (Dugas et al., 2001).
template <class T>
T softplus(T x, double beta, double threshold) {
  const T z = T(beta) * x;
  if (z > T(threshold)) return x;
  return (z > T(0) ? z + log1p(exp(-z)) : log1p(exp(z))) / T(beta);
}
/// x tanh(softplus(x)) (Misra, arXiv 1908.08681).
template <class T>
T mish(T x) {
  return x * tanh(x > T(0) ? x + log1p(exp(-x)) : log1p(exp(x)));
}
/// x moved into [low, high], with derivative 1 at both bounds. NaN if one is NaN; high if low > high.
template <class T>
T clamp(T x, T low, T high) {
  const T raised = x < low || plain(low) != plain(low) ? low : x;
  return raised > high || plain(high) != plain(high) ? high : raised;
}
/// silu(gate) up (Shazeer, arXiv 2002.05202).
template <class T>
T swiglu(T gate, T up) {
  return silu(gate) * up;
}
/// Dropout (Srivastava et al., 2014) with drawn factors: 0 with probability p, else 1 / (1 - p). They are
/// constants: the derivative is that of the function with these draws.
template <class T>
Array<T> dropout(const Array<T>& x, const Array<double>& factors) {
  Array<T> y(x.shape);
  for (int64_t i = 0; i < x.size(); ++i) y[i] = factors[i] == 0 ? T(0) : x[i] * T(factors[i]);
  return y;
}

// -- choosing
/// a where the condition holds, else b.
template <class T>
Array<T> where(const Whole& condition, const Array<T>& a, const Array<T>& b) {
  Array<T> y(broadcast(condition.shape, broadcast(a.shape, b.shape)));
  int64_t i = 0;
  for_each_index(y.shape, [&](const Sizes& at) {
    y[i++] = condition[place(at, condition.shape)] ? a[place(at, a.shape)] : b[place(at, b.shape)];
  });
  return y;
}
/// x with a value where the mask holds.
template <class T>
Array<T> masked_fill(const Array<T>& x, const Whole& mask, double value) {
  Array<T> y = x;
  int64_t i = 0;
  for_each_index(y.shape, [&](const Sizes& at) {
    if (mask[place(at, mask.shape)]) y[i] = T(value);
    ++i;
  });
  return y;
}
/// x moved into the bounds of each element; a missing bound is infinite.
template <class T>
Array<T> clamp(const Array<T>& x, const Array<T>& low, const Array<T>& high) {
  const Array<T> raised = low.defined ? each(x, low, [](T v, T l) { return clamp(v, l, T(INFINITY)); }) : x;
  return high.defined ? each(raised, high, [](T v, T h) { return clamp(v, T(-INFINITY), h); }) : raised;
}

}  // namespace gradus::reference
