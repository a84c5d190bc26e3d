// Operations on each element.
#pragma once

#include "gradus/autograd/reference/array.hpp"
#include "gradus/autograd/reference/dual.hpp"

namespace gradus::reference {

/// Operations on single numbers, which each() applies to all.
template <class T>
struct Scalar {
  static T add(T a, T b) { return a + b; }
  static T sub(T a, T b) { return a - b; }
  static T mul(T a, T b) { return a * b; }
  static T div(T a, T b) { return a / b; }
  static T power(T a, T b) { return pow(a, b); }
  /// The larger one; NaN if one is. Equal ones share the derivative.
  static T maximum(T a, T b) {
    if (a == b) return 0.5 * a + 0.5 * b;
    return a > b || std::isnan(plain(a)) ? a : b;
  }
  static T minimum(T a, T b) { return -maximum(-a, -b); }

  static T neg(T x) { return -x; }
  static T absolute(T x) { return abs(x); }
  static T exponential(T x) { return exp(x); }
  static T logarithm(T x) { return log(x); }
  static T root(T x) { return sqrt(x); }
  static T rsqrt(T x) { return 1.0 / sqrt(x); }
  static T sine(T x) { return sin(x); }
  static T cosine(T x) { return cos(x); }
  static T tangent(T x) { return tanh(x); }
  static T error(T x) { return erf(x); }
  /// max(x, 0) with derivative 0 at 0 (Nair and Hinton, 2010).
  static T relu(T x) { return x <= 0 ? T(0) : x; }
  /// 1 / (1 + e^-x), written so that e^ does not overflow.
  static T sigmoid(T x) { return x < 0 ? exp(x) / (1.0 + exp(x)) : 1.0 / (1.0 + exp(-x)); }
  /// x times a gate between 0 and 1. A gate that is shut leaves a zero of x's sign, also of an infinite x.
  static T gated(T x, T gate) { return gate == T(0) ? T(std::copysign(0.0, plain(x))) : x * gate; }
  /// x Phi(x) with the normal distribution's Phi(x) = erfc(-x / sqrt 2) / 2 (Hendrycks and Gimpel, arXiv
  /// 1606.08415).
  static T gelu(T x) { return gated(x, 0.5 * erfc(-x / sqrt(T(2)))); }
  /// Its approximation x / 2 (1 + tanh u) = x sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3).
  static T gelu_tanh(T x) {
    const T pi = T(0x1.921fb54442d18p+1) + T(0x1.1a62633145c07p-53);  // in more digits than double has
    return gated(x, sigmoid(2.0 * sqrt(2.0 / pi) * (x + T(44715) / 1e6 * x * x * x)));
  }
  /// x sigmoid(x) (Elfwing et al., arXiv 1702.03118; Ramachandran et al., arXiv 1710.05941).
  static T silu(T x) { return gated(x, sigmoid(x)); }
  /// log(1 + e^(beta x)) / beta, and x itself where beta x is above the threshold (Dugas et al., 2001).
  static T softplus(T x, double beta, double threshold) {
    const T z = beta * x;
    if (z > threshold) return x;
    return (z > 0 ? z + log1p(exp(-z)) : log1p(exp(z))) / beta;
  }
  /// x tanh(softplus(x)) (Misra, arXiv 1908.08681).
  static T mish(T x) { return gated(x, tanh(softplus(x, 1, INFINITY))); }
  /// silu(gate) up (Shazeer, arXiv 2002.05202).
  static T swiglu(T gate, T up) { return silu(gate) * up; }
  /// x moved into [low, high], with derivative 1 at both bounds. NaN if one is NaN; high if low > high.
  static T clamp(T x, T low, T high) {
    const T raised = x < low || std::isnan(plain(low)) ? low : x;
    return raised > high || std::isnan(plain(high)) ? high : raised;
  }
};

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
  const Array<T> raised =
      low.defined ? each(x, low, [](T v, T l) { return Scalar<T>::clamp(v, l, INFINITY); }) : x;
  return high.defined ? each(raised, high, [](T v, T h) { return Scalar<T>::clamp(v, -INFINITY, h); })
                      : raised;
}

}  // namespace gradus::reference
