// gelu, its tanh form and silu: x times a gate that closes on the left, where what is left of it is an
// exponential. The exponent is kept in two numbers, since rounding it to one takes as many digits as it has
// before the point; and the exponential is applied last, as it may be subnormal where the result's factors
// are not.
#pragma once

#include "gradus/autograd/kernels/levels/math.hpp"

namespace gradus::kernels::GRADUS_LEVEL {

// high + low, low less than half a step of high.
template <class T>
struct Twofold {
  T high, low;
};

inline Twofold<float> twofold(double x) {
  const auto high = static_cast<float>(x);
  return {high, static_cast<float>(x - static_cast<double>(high))};
}

// |x|, but no more than limit: the gate is open or closed long before. NaN stays.
template <class T>
T size_within(T limit, T x) {
  const T size = std::fabs(x);
  return size > limit ? limit : size;
}

// e^x for x <= 0 as the square of its root, which is not subnormal.
struct DoubleExponential {
  double root;

  double value() const { return root * root; }
  double times(double factor) const { return factor * root * root; }
};

// e^-x for x >= 0. Below e^-104 it rounds to 0, but its product with a large factor need not.
inline FloatExponential exp_of_minus(Twofold<float> x) {
  FloatExponential e = exponential(x.high > 120.0F ? -120.0F : -x.high);
  e.digits = fused(-x.low, e.digits, e.digits);
  return e;
}
inline DoubleExponential exp_of_minus(Twofold<double> x) {
  const double root = std::exp(-0.5 * x.high);
  return {root - 0.5 * x.low * root};
}

// a^2 / 2.
inline Twofold<float> half_square(float a) {
  const double x = a;
  return twofold(0.5 * x * x);
}
inline Twofold<double> half_square(double a) {
  const double square = a * a;
  return {0.5 * square, 0.5 * std::fma(a, a, -square)};
}

// Phi(-a), the upper tail of the normal distribution, as e^(-a^2 / 2) times a ratio. For double the C
// library's erfc, at z = a / sqrt(2) rounded, with what the rounding left made good to first order.
inline float gelu_tail(float a, const FloatExponential& e, float factor) {
  return e.times(factor * normal_tail_ratio(a));
}
inline double gelu_tail(double a, const DoubleExponential& e, double factor) {
  constexpr double kRoot = 0x1.6a09e667f3bcdp-1, kRootRest = -0x1.bdd3413b26456p-55;  // 1 / sqrt(2)
  const double z = a * kRoot, rest = std::fma(a, kRoot, -z) + a * kRootRest;
  return factor * (0.5 * std::erfc(z) - 0.564189583547756287 * e.value() * rest);  // 1 / sqrt(pi)
}

// x Phi(x): from x, or -0 on the left, the tail is taken off.
template <class T>
T gelu(T x) {
  const T size = size_within(T{40}, x);
  return (x < T{0} ? T(-0.0) : x) - gelu_tail(size, exp_of_minus(half_square(size)), size);
}

// Phi(x) + x phi(x), with phi(x) = e^(-x^2 / 2) / sqrt(2 pi).
template <class T>
T gelu_slope(T x) {
  const T size = size_within(T{40}, x);
  const auto e = exp_of_minus(half_square(size));
  const T left = gelu_tail(size, e, T{1}) - e.times(size * static_cast<T>(0.398942280401432678));
  return x < T{0} ? left : T{1} - left;
}

// 2u = 2 sqrt(2 / pi) (x + 0.044715 x^3) for x >= 0, of Hendrycks and Gimpel, "Gaussian error linear units"
// (2016): half of 1 + tanh(u) is sigmoid(2u), which costs less and has no 1 to lose digits to.
constexpr double kLinear = 0x1.9884533d43651p+0, kLinearRest = -0x1.cbc0d30ebfd15p-54;
constexpr double kCubic = 0x1.2444f2a4d8b4bp-4, kCubicRest = -0x1.6c843a29d1c70p-61;

inline Twofold<float> gelu_tanh_2u(float a) {
  const double x = a;
  return twofold(x * (kLinear + kCubic * x * x));
}
inline Twofold<double> gelu_tanh_2u(double x) {
  const double square = x * x, square_rest = std::fma(x, x, -square);
  const double cubic = kCubic * square;
  const double cubic_rest = std::fma(kCubic, square, -cubic) + (kCubic * square_rest + kCubicRest * square);
  const double sum = kLinear + cubic, part = sum - kLinear;
  const double sum_rest = (kLinear - (sum - part)) + (cubic - part) + (cubic_rest + kLinearRest);
  const double z = x * sum;
  return {z, std::fma(x, sum, -z) + x * sum_rest};
}

// x sigmoid(z), given |z|, which has x's sign.
template <class T>
T gated(T x, T size, Twofold<T> z) {
  const auto e = exp_of_minus(z);
  const T open = T{1} / (T{1} + e.value());
  return x < T{0} ? e.times(-size * open) : x * open;
}

// Its slope, sigmoid(z) + x z' sigmoid(z) sigmoid(-z), given |x|, |z| and z'.
template <class T>
T gated_slope(T x, T size, Twofold<T> z, T z_slope) {
  const auto e = exp_of_minus(z);
  const T open = T{1} / (T{1} + e.value()), term = size * z_slope * open;
  const T left = e.times(open * (T{1} - term));
  return x < T{0} ? left : T{1} - left;
}

template <class T>
T gelu_tanh(T x) {
  const T size = size_within(T{40}, x);
  return gated(x, size, gelu_tanh_2u(size));
}

template <class T>
T gelu_tanh_slope(T x) {
  const T size = size_within(T{40}, x);
  const T slope = fused(static_cast<T>(3 * kCubic) * size, size, static_cast<T>(kLinear));
  return gated_slope(x, size, gelu_tanh_2u(size), slope);
}

template <class T>
T silu(T x) {
  const T size = size_within(T{1500}, x);
  return gated(x, size, Twofold<T>{size, T{0}});
}

template <class T>
T silu_slope(T x) {
  const T size = size_within(T{1500}, x);
  return gated_slope(x, size, Twofold<T>{size, T{0}}, T{1});
}

}  // namespace gradus::kernels::GRADUS_LEVEL
