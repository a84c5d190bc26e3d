// Layer and root mean square normalisation of one row.
#include "gradus/autograd/kernels/rows/norms.hpp"

#include <cmath>

#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/loops/math.hpp"
#include "gradus/autograd/kernels/loops/rows.hpp"

namespace gradus::kernels::GRADUS_ISA {

// The mean is rounded, so a little is left in x - mean; taking that off too makes a constant row exactly zero
// and keeps the digits of rows that lie far from zero. The two stay apart for the gradients: mean[0] +
// mean[1].
template <class T>
void layer_norm(int64_t cols, T eps, T* y, T* mean, T* rstd, const T* x, const T* weight, const T* bias) {
  const auto count = static_cast<T>(cols);
  const T near = sum(cols, x) / count;
  T rest = 0, squares = 0;
#pragma omp simd reduction(+ : rest, squares)
  for (int64_t i = 0; i < cols; ++i) {
    const T d = x[i] - near;
    rest += d;
    squares += d * d;
  }
  rest /= count;
  const T variance = squares / count - rest * rest;
  const T r =
      T{1} / std::sqrt((variance < T{0} ? T{0} : variance) + eps);  // NaN stays, which fmax would drop
  mean[0] = near;
  mean[1] = rest;
  *rstd = r;
  if (weight && bias) {
#pragma omp simd
    for (int64_t i = 0; i < cols; ++i) y[i] = (x[i] - near - rest) * r * weight[i] + bias[i];
    return;
  }
#pragma omp simd
  for (int64_t i = 0; i < cols; ++i) y[i] = (x[i] - near - rest) * r;
  if (weight) {
#pragma omp simd
    for (int64_t i = 0; i < cols; ++i) y[i] *= weight[i];
  }
  if (bias) {
#pragma omp simd
    for (int64_t i = 0; i < cols; ++i) y[i] += bias[i];
  }
}

// gx = rstd * (g - mean(g) - xhat * mean(g * xhat)), g = gy * weight.
template <class T>
void layer_norm_gx(int64_t cols, T* gx, const T* gy, const T* x, const T* mean, T rstd, const T* weight) {
  const T near = mean[0], rest = mean[1];
  T sum_g = 0, sum_gx = 0;
#pragma omp simd reduction(+ : sum_g, sum_gx)
  for (int64_t i = 0; i < cols; ++i) {
    const T g = weight ? gy[i] * weight[i] : gy[i];
    gx[i] = g;
    sum_g += g;
    sum_gx += g * ((x[i] - near - rest) * rstd);
  }
  const T mean_g = sum_g / static_cast<T>(cols), mean_gx = sum_gx / static_cast<T>(cols);
#pragma omp simd
  for (int64_t i = 0; i < cols; ++i) gx[i] = rstd * (gx[i] - mean_g - (x[i] - near - rest) * rstd * mean_gx);
}

template <class T>
void layer_norm_gw(int64_t cols, T* gw, T* gb, const T* gy, const T* x, const T* mean, T rstd) {
  const T near = mean[0], rest = mean[1];
  if (gw) {
#pragma omp simd
    for (int64_t i = 0; i < cols; ++i) gw[i] += gy[i] * ((x[i] - near - rest) * rstd);
  }
  if (gb) {
#pragma omp simd
    for (int64_t i = 0; i < cols; ++i) gb[i] += gy[i];
  }
}

GRADUS_BUILD(LayerNormLoops, layer_norm<T>, layer_norm_gx<T>, layer_norm_gw<T>);

template <class T>
void rms_norm(int64_t cols, T eps, T* y, T* rstd, const T* x, const T* weight) {
  T squares = 0;
#pragma omp simd reduction(+ : squares)
  for (int64_t i = 0; i < cols; ++i) squares += x[i] * x[i];
  const T r = T{1} / std::sqrt(squares / static_cast<T>(cols) + eps);
  *rstd = r;
#pragma omp simd
  for (int64_t i = 0; i < cols; ++i) y[i] = weight ? x[i] * r * weight[i] : x[i] * r;
}

// gx = rstd * (g - xhat * mean(g * xhat)), g = gy * weight, xhat = x * rstd.
template <class T>
void rms_norm_gx(int64_t cols, T* gx, const T* gy, const T* x, T rstd, const T* weight) {
  T along = 0;
#pragma omp simd reduction(+ : along)
  for (int64_t i = 0; i < cols; ++i) {
    gx[i] = weight ? gy[i] * weight[i] : gy[i];
    along += gx[i] * (x[i] * rstd);
  }
  along /= static_cast<T>(cols);
#pragma omp simd
  for (int64_t i = 0; i < cols; ++i) gx[i] = rstd * (gx[i] - x[i] * rstd * along);
}

template <class T>
void rms_norm_gw(int64_t cols, T* gw, const T* gy, const T* x, T rstd) {
#pragma omp simd
  for (int64_t i = 0; i < cols; ++i) gw[i] += gy[i] * (x[i] * rstd);
}

GRADUS_BUILD(RMSNormLoops, rms_norm<T>, rms_norm_gx<T>, rms_norm_gw<T>);

}  // namespace gradus::kernels::GRADUS_ISA
