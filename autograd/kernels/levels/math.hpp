// exp, tanh and erf as the level files inline them. For float: polynomials in Horner form that a compiler vectorises,
// good to a few ulp, with exact limits; for double: the C library.
#pragma once

#include <cmath>
#include <cstdint>

namespace gradus::kernels::GRADUS_LEVEL {

inline float bits_to_float(int32_t bits) { return __builtin_bit_cast(float, bits); }
inline int32_t float_to_bits(float x) { return __builtin_bit_cast(int32_t, x); }

// a * b + c, rounded once where the level has the instruction. Written out, because contraction by the compiler could
// differ between a vector loop and its remainder.
inline float fused(float a, float b, float c) {
#ifdef __FMA__
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

// e^x by x = n ln 2 + r, |r| <= ln 2 / 2, and e^r by the polynomial of the Cephes library's expf. 2^n is applied in two
// halves, so that results near overflow and among the subnormals come out right.
inline float exp_(float x) {
  constexpr float kRound = 0x1.8p23F;  // adding and subtracting it rounds to an integer
  x = x > 89.0F ? 89.0F : x;           // overflows from here on; NaN stays
  x = x < -104.0F ? -104.0F : x;       // rounds to 0
  const float shifted = fused(x, 1.44269504088896341F, kRound);
  const float n = shifted - kRound;
  float r = fused(n, -0.693359375F, x);
  r = fused(n, 2.12194440e-4F, r);
  float p = 1.9875691500e-4F;
  p = fused(p, r, 1.3981999507e-3F);
  p = fused(p, r, 8.3334519073e-3F);
  p = fused(p, r, 4.1665795894e-2F);
  p = fused(p, r, 1.6666665459e-1F);
  p = fused(p, r, 5.0000001201e-1F);
  p = fused(p * r, r, r) + 1.0F;
  const int32_t whole = float_to_bits(shifted) - float_to_bits(kRound);
  const int32_t half = whole >> 1;
  return p * bits_to_float((half + 127) << 23) * bits_to_float((whole - half + 127) << 23);
}

// Cephes' tanhf: a polynomial below 0.625, 1 - 2 / (e^2x + 1) above.
inline float tanh_(float x) {
  const float a = std::fabs(x), z = x * x;
  float p = -5.70498872745e-3F;
  p = fused(p, z, 2.06390887954e-2F);
  p = fused(p, z, -5.37397155531e-2F);
  p = fused(p, z, 1.33314422036e-1F);
  p = fused(p, z, -3.33332819422e-1F);
  const float small = fused(p * z, a, a);
  const float large = 1.0F - 2.0F / (exp_(2.0F * a) + 1.0F);
  return std::copysign(a < 0.625F ? small : large, x);
}

// Cephes' erff and erfcf: odd polynomial below 1, 1 - e^(-x^2) / x * P(1 / x^2) above, with one P to 2 and one beyond.
inline float erf_(float x) {
  const float a = std::fabs(x), z = x * x;
  float t = 7.853861353153693e-5F;
  t = fused(t, z, -8.010193625184903e-4F);
  t = fused(t, z, 5.188327685732524e-3F);
  t = fused(t, z, -2.685381193529856e-2F);
  t = fused(t, z, 1.128358514861418e-1F);
  t = fused(t, z, -3.761262582423300e-1F);
  t = fused(t, z, 1.128379165726710F);
  const float q = 1.0F / a, w = q * q;
  float p = 2.326819970068386e-2F;
  p = fused(p, w, -1.387039388740657e-1F);
  p = fused(p, w, 3.687424674597105e-1F);
  p = fused(p, w, -5.824733027278666e-1F);
  p = fused(p, w, 6.210004621745983e-1F);
  p = fused(p, w, -4.944515323274145e-1F);
  p = fused(p, w, 3.404879937665872e-1F);
  p = fused(p, w, -2.741127028184656e-1F);
  p = fused(p, w, 5.638259427386472e-1F);
  float r = -1.047766399936249e+1F;
  r = fused(r, w, 1.297719955372516e+1F);
  r = fused(r, w, -7.495518717768503F);
  r = fused(r, w, 2.921019019210786F);
  r = fused(r, w, -1.015265279202700F);
  r = fused(r, w, 4.218463358204948e-1F);
  r = fused(r, w, -2.820767439740514e-1F);
  r = fused(r, w, 5.641895067754075e-1F);
  const float tail = exp_(-z) * q * (a < 2.0F ? p : r);
  const float large = std::copysign(1.0F - (a > 9.0F ? 0.0F : tail), x);
  return a < 1.0F ? x * t : (a == a ? large : x);
}

inline double exp_(double x) { return std::exp(x); }
inline double tanh_(double x) { return std::tanh(x); }
inline double erf_(double x) { return std::erf(x); }
inline double fused(double a, double b, double c) { return a * b + c; }

// 1 / (1 + e^-x), from e^-|x| so that nothing overflows and the left tail keeps its digits.
template <class T>
T sigmoid_(T x) {
  const T e = exp_(-std::fabs(x));
  return (x < T{0} ? e : T{1}) / (T{1} + e);
}

// Phi(x), the normal distribution function. For double by erfc, which keeps its digits far to the left.
inline float normal_cdf(float x) { return 0.5F + 0.5F * erf_(x * 0.707106781186547524F); }
inline double normal_cdf(double x) { return 0.5 * std::erfc(x * -0.707106781186547524); }

}  // namespace gradus::kernels::GRADUS_LEVEL
