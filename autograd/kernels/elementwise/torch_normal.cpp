#include "gradus/autograd/kernels/elementwise/torch_normal.hpp"

#include <cmath>
#include <numbers>

namespace gradus::kernels {
namespace {

// Polynomials of Cephes (Moshier, 1992), single precision. Each fma is one rounding of PyTorch's, so none may
// be added or left out; this room is compiled without contraction.

// 0 < x <= 1.
float log_cephes(float x) {
  constexpr float kCoefficients[] = {-1.1514610310e-1F, 1.1676998740e-1F,  -1.2420140846e-1F,
                                     1.4249322787e-1F,  -1.6668057665e-1F, 2.0000714765e-1F,
                                     -2.4999993993e-1F, 3.3333331174e-1F};
  int exponent = 0;
  const float mantissa = std::frexp(x, &exponent);  // in [0.5, 1)
  float t = mantissa - 1.0F;
  if (mantissa < std::numbers::sqrt2_v<float> / 2) {
    --exponent;
    t += mantissa;
  }
  const auto e = static_cast<float>(exponent);
  const float z = t * t;
  float y = 7.0376836292e-2F;
  for (const float c : kCoefficients) y = std::fma(y, t, c);
  y = std::fma(y * t, z, e * -2.12194440e-4F);  // log 2 in two parts, the large one exact
  y = std::fma(-z, 0.5F, y);
  return std::fma(e, 0.693359375F, t + y);
}

struct SinCos {
  float sin, cos;
};

// x >= 0.
SinCos sincos_cephes(float x) {
  const int octant = (static_cast<int>(x * 1.27323954473516F) + 1) & ~1;  // 4 / pi, rounded to even
  const auto y = static_cast<float>(octant);
  x = std::fma(y, -0.78515625F, x);  // pi / 4 in three parts
  x = std::fma(y, -2.4187564849853515625e-4F, x);
  x = std::fma(y, -3.77489497744594108e-8F, x);

  const float z = x * x;
  float c = std::fma(2.443315711809948e-5F, z, -1.388731625493765e-3F);
  c = std::fma(c, z, 4.166664568298827e-2F);
  c = std::fma(c * z, z, -(0.5F * z)) + 1.0F;
  float s = std::fma(-1.9515295891e-4F, z, 8.3321608736e-3F);
  s = std::fma(s, z, -1.6666654611e-1F);
  s = std::fma(s * z, x, x);

  SinCos result = (octant & 2) != 0 ? SinCos{c, s} : SinCos{s, c};
  if ((octant & 4) != 0) result.sin = -result.sin;
  if (((octant - 2) & 4) == 0) result.cos = -result.cos;
  return result;
}

}  // namespace

void normals_of_uniforms(float* x, float mean, float std) {
  for (size_t i = 0; i < kNormalBlock / 2; ++i) {
    const float radius = std::sqrt(-2.0F * log_cephes(1.0F - x[i]));
    const auto [sin, cos] = sincos_cephes(2.0F * std::numbers::pi_v<float> * x[i + kNormalBlock / 2]);
    x[i] = std::fma(radius * cos, std, mean);
    x[i + kNormalBlock / 2] = std::fma(radius * sin, std, mean);
  }
}

void normals_of_uniforms(double* x, double mean, double std) {
  for (size_t i = 0; i < kNormalBlock / 2; ++i) {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - x[i]));
    const double angle = 2.0 * std::numbers::pi * x[i + kNormalBlock / 2];
    x[i] = std::fma(radius * std::cos(angle), std, mean);
    x[i + kNormalBlock / 2] = std::fma(radius * std::sin(angle), std, mean);
  }
}

}  // namespace gradus::kernels
