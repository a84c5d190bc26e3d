// gelu, its tanh form and silu: x times a gate, which on the left is an exponential. Its exponent is kept as
// an unrounded product: rounding would cost as many digits of the result as the exponent has before the
// point. A result that may be subnormal is multiplied last, from factors that are not.
#pragma once

#include <type_traits>

#include "gradus/autograd/kernels/elementwise/elementwise.hpp"
#include "gradus/autograd/kernels/loops/math.hpp"

namespace gradus::kernels::GRADUS_ISA {

// x between the bounds; NaN stays.
template <class T>
T within(T low, T high, T x) {
  const T least = x < low ? low : x;
  return least > high ? high : least;
}

// factor * Phi(-a), the upper tail of the normal distribution, as e = e^(-a^2 / 2) times a ratio. For double
// it uses the C library's erfc at z = a / sqrt(2), with a first-order correction for the rounding of z.
inline float gelu_tail(float a, const FloatExponential& e, float factor) {
  return e.times(factor * normal_tail_ratio(a));
}
inline double gelu_tail(double a, const DoubleExponential& e, double factor) {
  constexpr double kRoot = 0x1.6a09e667f3bcdp-1, kRootRest = -0x1.bdd3413b26456p-55;  // 1 / sqrt(2)
  const double z = a * kRoot, rest = std::fma(a, kRoot, -z) + a * kRootRest;
  return factor * (0.5 * std::erfc(z) - 0.564189583547756287 * e.times(1.0) * rest);  // 1 / sqrt(pi)
}

// Beyond this |x| the tail underflows to 0.
template <class T>
constexpr T kGeluReach = sizeof(T) == 4 ? T(15) : T(40);

// x Phi(x): x, or 0 on the left, minus the tail. Has the sign of x, also for zeros.
template <class T>
T gelu(T x) {
  const T size = within(T{0}, kGeluReach<T>, std::fabs(x));
  const auto e = exponential(T(-0.5) * size, size, T{0});
  return std::copysign((x > T{0} ? x : T{0}) - gelu_tail(size, e, size), x);
}

// Phi(x) + x phi(x), with phi(x) = e^(-x^2 / 2) / sqrt(2 pi).
template <class T>
T gelu_slope(T x) {
  const T size = within(T{0}, kGeluReach<T>, std::fabs(x));
  const auto e = exponential(T(-0.5) * size, size, T{0});
  const T left = gelu_tail(size, e, T{1}) - e.times(size * static_cast<T>(0.398942280401432678));
  return x < T{0} ? left : T{1} - left;
}

// z = 2u = 2 sqrt(2 / pi) (x + 0.044715 x^3) = x (kLinear + kCubic x^2) of Hendrycks and Gimpel, "Gaussian
// error linear units" (2016): (1 + tanh(u)) / 2 is sigmoid(2u), which costs less and keeps more digits. Both
// coefficients are in two parts; the first linear one is so short that subtracting it from a sum is exact.
constexpr double kLinear = 0x1.9884533d43651p+0, kLinearBeyond = -0x1.cbc0d30ebfd15p-54;
constexpr double kLinearShort = 0x1.988p+0;
constexpr double kCubic = 0x1.2444f2a4d8b4bp-4, kCubicBeyond = -0x1.6c843a29d1c70p-61;
template <class T>
constexpr T kLinearRest = static_cast<T>(kLinear - kLinearShort + kLinearBeyond);
template <class T>
constexpr T kCubicRest = static_cast<T>(kCubic - static_cast<double>(static_cast<T>(kCubic)) + kCubicBeyond);

// e^-z.
template <class T>
auto gelu_tanh_exponential(T x) {
  const T linear = kLinearShort, cubic = static_cast<T>(kCubic), square = x * x;
  const T ratio = fused(cubic, square, linear);  // z / x, and the rest of it:
  const T square_rest = fused_once(x, x, -square), ratio_rest = fused_once(cubic, square, linear - ratio);
  const T rest = ratio_rest + fused(cubic, square_rest, fused(kCubicRest<T>, square, kLinearRest<T>));
  return exponential(-x, ratio, rest);
}
inline FloatExponential silu_exponential(float x) { return exponential(-x); }
inline DoubleExponential silu_exponential(double x) { return exponential(-x, 1.0, 0.0); }

// x z'.
template <class T>
T gelu_tanh_slope(T x) {
  return x * fused(static_cast<T>(3 * kCubic) * x, x, static_cast<T>(kLinear));
}

// x beyond kGateOpen has an open gate. Left of kGateFar e^-z, which would overflow, is scaled down:
// 1 / (1 + e^-z) = kScale / (kScale + kScale e^-z). At kGateEnd its product with any x z' is 0.
template <class T>
constexpr T kScale = sizeof(T) == 4 ? T(0x1p-64) : T(0x1p-128);
template <class T, Unary kOp>
constexpr T kGateOpen = kOp == Unary::silu ? (sizeof(T) == 4 ? T(104) : T(700)) : T(10);
template <class T, Unary kOp>
constexpr T kGateFar = kOp == Unary::silu ? T(-80) : T(-9);
template <class T, Unary kOp>
constexpr T kGateEnd = kOp == Unary::silu ? (sizeof(T) == 4 ? T(-125) : T(-790))
                                          : (sizeof(T) == 4 ? T(-11.4) : T(-21.9));

// sigmoid(z) = open / all, sigmoid(-z) = shut / all.
template <class T, Unary kOp>
struct Gate {
  T x, open, shut, all;

  Gate(T x_, T scale) : x(x_), open(scale) {
    if constexpr (kOp == Unary::silu) shut = silu_exponential(x).times(scale);
    if constexpr (kOp == Unary::gelu_tanh) shut = gelu_tanh_exponential(x).times(scale);
    all = open + shut;
  }
  static Gate usual(T x) { return Gate(x > kGateOpen<T, kOp> ? kGateOpen<T, kOp> : x, T{1}); }
  static Gate far(T x) { return Gate(x < kGateEnd<T, kOp> ? kGateEnd<T, kOp> : x, kScale<T>); }

  // The derivative of x sigmoid(z).
  T slope() const {
    const T term = kOp == Unary::silu ? x : gelu_tanh_slope(x), one_over_all = T{1} / all;
    return open * fused(term, shut * one_over_all, T{1}) * one_over_all;
  }
};

// x sigmoid(z), for any x if kFar, else for x >= kGateFar.
template <class T, Unary kOp, bool kFar>
T gate_value(T x) {
  if constexpr (!kFar) return x / Gate<T, kOp>::usual(x).all;
  const Gate<T, kOp> far = Gate<T, kOp>::far(x);
  const T on_left = far.x * far.open / far.all, usual = gate_value<T, kOp, false>(x);
  return x < kGateFar<T, kOp> ? on_left : usual;
}

// Its derivative.
template <class T, Unary kOp, bool kFar>
T gate_slope(T x) {
  if constexpr (!kFar) return Gate<T, kOp>::usual(x).slope();
  const T on_left = Gate<T, kOp>::far(x).slope(), usual = gate_slope<T, kOp, false>(x);
  return x < kGateFar<T, kOp> ? on_left : usual;
}

// Calls f(i, x[i], whether far elements are possible, as a type). Few elements are far, so most chunks are
// spared the second form; the form that determines an element depends on its value only.
template <class T, Unary kOp, class F>
void map_gate(int64_t n, const T* x, F f) {
  constexpr int64_t kChunk = 512;
  for (int64_t first = 0; first < n; first += kChunk) {
    const int64_t end = n - first < kChunk ? n : first + kChunk;
    int32_t any = 0;
#pragma omp simd reduction(| : any)
    for (int64_t i = first; i < end; ++i) any |= x[i] < kGateFar<T, kOp> ? 1 : 0;
    if (any == 0) {
#pragma omp simd
      for (int64_t i = first; i < end; ++i) f(i, x[i], std::false_type());
    } else {
#pragma omp simd
      for (int64_t i = first; i < end; ++i) f(i, x[i], std::true_type());
    }
  }
}

// out = x sigmoid(z).
template <class T, Unary kOp>
void gate_span(int64_t n, T* out, const T* x) {
  map_gate<T, kOp>(n, x, [out](int64_t i, T v, auto far) { out[i] = gate_value<T, kOp, far.value>(v); });
}

// out = gy * its derivative at x.
template <class T, Unary kOp, Operands kOperands>
void gate_grad_span(int64_t n, T* out, const T* gy, const T* x) {
  if constexpr (kOperands == Operands::b_single) {
    const T slope = gate_slope<T, kOp, true>(*x);
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) out[i] = gy[i] * slope;
  } else {
    constexpr bool kSingle = kOperands == Operands::a_single;
    const T one = *gy;
    map_gate<T, kOp>(n, x, [=](int64_t i, T v, auto far) {
      out[i] = (kSingle ? one : gy[i]) * gate_slope<T, kOp, far.value>(v);
    });
  }
}

}  // namespace gradus::kernels::GRADUS_ISA
