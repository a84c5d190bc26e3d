// exp, log, tanh and erf for loops. For float: polynomials that compilers vectorise (minimax fits), within a
// few ulp and with exact limits; for double: the C library.
#pragma once

#include <cmath>
#include <cstdint>

namespace gradus::kernels::GRADUS_ISA {

inline float bits_to_float(int32_t bits) { return __builtin_bit_cast(float, bits); }
inline int32_t float_to_bits(float x) { return __builtin_bit_cast(int32_t, x); }

// a * b + c, rounded once if the level has the instruction. Explicit, because contraction by the compiler
// could differ between a vector loop and its remainder.
inline float fused(float a, float b, float c) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

// a * b + c, rounded once at every level.
inline float fused_once(float a, float b, float c) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  return __builtin_fmaf(a, b, c);
#else
  return static_cast<float>(static_cast<double>(a) * static_cast<double>(b) + static_cast<double>(c));
#endif
}
inline double fused_once(double a, double b, double c) { return std::fma(a, b, c); }

// Coefficients from the highest power down.
template <class... Lower>
[[gnu::always_inline]] inline float polynomial(float x, float highest, Lower... lower) {
  float p = highest;
  ((p = fused(p, x, lower)), ...);
  return p;
}

// e^x as a product of its digits and of 2^n in two factors: results near overflow and subnormals are right.
struct FloatExponential {
  float digits, half, rest;

  float value() const { return digits * half * rest; }
  // factor * e^x; rounded once if subnormal, and finite even if only e^x overflows.
  float times(float factor) const { return factor * digits * half * rest; }
};

constexpr float kLog2E = 1.44269504F, kLn2 = 0.693145752F, kLn2Rest = 1.42860677e-6F;  // n * kLn2 is exact
constexpr float kRound = 0x1.8p23F;  // adding it rounds to an integer, which is left in the low bits

// e^(n ln 2 + r), |r| <= ln 2 / 2, given n + kRound: e^r = 1 + r + r^2 P(r), within 1 ulp, with the
// coefficients of SLEEF's expf (Shibata and Petrogalli, 2020), which PyTorch's softmax uses too.
inline FloatExponential exponential_of_parts(float shifted, float r) {
  const float p =
      polynomial(r, 1.98527618e-4F, 1.39304355e-3F, 8.33336078e-3F, 4.16664854e-2F, 1.66666672e-1F, 0.5F);
  const float e_to_r = fused(r * r, p, r) + 1.0F;
  // Unsigned, as unused lanes beyond the bounds may overflow.
  const auto power = static_cast<int32_t>(static_cast<uint32_t>(float_to_bits(shifted)) -
                                          static_cast<uint32_t>(float_to_bits(kRound)));
  const int32_t half = power >> 1;
  return {e_to_r, bits_to_float((half + 127) << 23), bits_to_float((power - half + 127) << 23)};
}

// e^x for -130 <= x <= 130.
inline FloatExponential exponential(float x) {
  const float shifted = x * kLog2E + kRound, n = shifted - kRound;
  return exponential_of_parts(shifted, fused(n, -kLn2Rest, fused(n, -kLn2, x)));
}

// e^(a (b + rest)) of the unrounded product, for -130 <= a b <= 130 and a small rest.
inline FloatExponential exponential(float a, float b, float rest) {
  const float shifted = fused(a * b, kLog2E, kRound), n = shifted - kRound;
  return exponential_of_parts(shifted, fused(a, rest, fused(n, -kLn2Rest, fused_once(a, b, n * -kLn2))));
}

// e^x as the square of e^(x / 2), which neither overflows nor is subnormal.
struct DoubleExponential {
  double root;

  double times(double factor) const { return factor * root * root; }
};

inline DoubleExponential exponential(double a, double b, double rest) {
  const double product = a * b, beyond = std::fma(a, b, -product) + a * rest;
  const double x = product + beyond, x_rest = beyond - (x - product);
  const double root = std::exp(0.5 * x);
  return {root + 0.5 * x_rest * root};
}

// e^x for -104 <= x <= 89.
inline float exp_within(float x) { return exponential(x).value(); }

// Beyond the bounds it overflows or rounds to 0; NaN passes.
inline float exp_(float x) {
  x = x > 89.0F ? 89.0F : x;
  return exp_within(x < -104.0F ? -104.0F : x);
}

// log x by x = 2^n (1 + f), 1 + f from sqrt(1/2) to sqrt(2), and log(1 + f) = f - f^2 / 2 + f^3 P(f),
// relative error 1e-9.
inline float log_(float x) {
  const bool tiny = x < 0x1p-126F;  // below it the exponent field is 0
  const float normal = tiny ? x * 0x1p24F : x;
  // Subtracting the bits of sqrt(1/2) makes n grow where 1 + f passes sqrt(2). Unsigned, as x < 0 overflows.
  const auto bits = static_cast<int32_t>(static_cast<uint32_t>(float_to_bits(normal)) - 0x3F3504F3U);
  const float f = bits_to_float((bits & 0x007FFFFF) + 0x3F3504F3) - 1.0F;
  const float n = static_cast<float>(bits >> 23) - (tiny ? 24.0F : 0.0F);
  const float p =
      polynomial(f, 6.74664034e-2F, -1.16756518e-1F, 1.18881623e-1F, -1.24055889e-1F, 1.42195524e-1F,
                 -1.66679959e-1F, 2.00021187e-1F, -2.50000096e-1F, 3.33333126e-1F);
  const float square = f * f;
  float rest = fused(p * f, square, n * -2.12194440e-4F);
  rest = fused(square, -0.5F, rest);
  const float value = fused(n, 0x1.63p-1F, f + rest);
  const float limit = x == 0.0F  ? -__builtin_huge_valf()
                      : x < 0.0F ? __builtin_nanf("")
                                 : x;  // +inf and NaN stay
  return x > 0.0F && x < __builtin_huge_valf() ? value : limit;
}

// An odd polynomial below 0.625, 1 - 2 / (e^2x + 1) above.
inline float tanh_(float x) {
  const float a = std::fabs(x), z = x * x;
  const float p = polynomial(z, 2.12274571e-3F, -8.15628039e-3F, 2.16926071e-2F, -5.39453784e-2F,
                             1.33331959e-1F, -3.33333306e-1F);
  const float small = fused(p * z, a, a);
  const float large = 1.0F - 2.0F / (exp_(2.0F * a) + 1.0F);
  return std::copysign(a < 0.625F ? small : large, x);
}

// Phi(-a) / e^(-a^2 / 2) for a >= 0, Phi(-a) the upper tail of the normal distribution: t P(t) with t = 1 /
// (1 + 0.3 a), relative error 4e-9. (The form is 7.1.26 of Abramowitz and Stegun, "Handbook of mathematical
// functions", 1964.)
inline float normal_tail_ratio(float a) {
  const float t = 1.0F / fused(a, 0.3F, 1.0F);
  const float p =
      polynomial(t, -2.06199716e-2F, 1.12415949e-1F, -2.28165605e-1F, 1.91717918e-1F, -7.93656630e-2F,
                 9.61243470e-2F, 7.84014323e-2F, 1.10232770e-1F, 1.19572150e-1F, 1.19686672e-1F);
  return t * p;
}

// An odd polynomial below 1, 1 - 2 Phi(-sqrt(2) x) above.
inline float erf_(float x) {
  const float a = std::fabs(x), z = x * x;
  const float p = polynomial(z, 7.85386121e-5F, -8.01019358e-4F, 5.18832768e-3F, -2.68538119e-2F,
                             1.12835851e-1F, -3.76126258e-1F, 1.28379167e-1F);
  const float large = fused(-2.0F, exp_(-z) * normal_tail_ratio(1.41421356F * a), 1.0F);
  return std::copysign(a < 1.0F ? fused(p, a, a) : large, x);
}

inline double exp_within(double x) { return std::exp(x); }
inline double exp_(double x) { return std::exp(x); }
inline double log_(double x) { return std::log(x); }
inline double tanh_(double x) { return std::tanh(x); }
inline double erf_(double x) { return std::erf(x); }
inline double fused(double a, double b, double c) { return a * b + c; }

// 1 / (1 + e^-x), from e^-|x| so that nothing overflows and the left tail keeps its digits.
template <class T>
T sigmoid_(T x) {
  const T e = exp_(-std::fabs(x));
  return (x < T{0} ? e : T{1}) / (T{1} + e);
}

}  // namespace gradus::kernels::GRADUS_ISA
