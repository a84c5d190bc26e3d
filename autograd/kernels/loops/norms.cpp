// Loops of layer and root mean square normalisation.
#include <cmath>
#include <limits>
#include <type_traits>

#include "gradus/autograd/kernels/elementwise/rows.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/loops/sums.hpp"

namespace gradus::kernels::GRADUS_ISA {

// Sums of squares that overflow or vanish are computed again in a type with a larger exponent.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;

template <class T>
bool is_ordinary(T square) {
  return square > std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon() &&
         square <= std::numeric_limits<T>::max();
}

// 1 / sqrt(mean((x - mean)^2) + eps), and the mean in two parts; mean nullptr: of x itself.
template <class T>
[[gnu::cold, gnu::noinline]] T wide_rstd(int64_t cols, T eps, T* mean, const T* x) {
  const auto count = static_cast<Wide<T>>(cols);
  Wide<T> near = 0, squares = 0;
  for (int64_t i = 0; mean && i < cols; ++i) near += x[i] / count;
  for (int64_t i = 0; i < cols; ++i) squares += (x[i] - near) * (x[i] - near) / count;
  if (mean) {
    mean[0] = static_cast<T>(near);
    mean[1] = static_cast<T>(near - mean[0]);
  }
  return static_cast<T>(1 / std::sqrt(squares + eps));
}

// The mean is rounded. Subtracting the mean of x - mean as well makes a constant row exactly zero, and keeps
// the digits of rows far from zero. The two parts are kept for the gradients: mean[0] + mean[1].
template <class T>
void layer_norm(int64_t cols, T eps, T* y, T* mean, T* rstd, const T* x, const T* weight, const T* bias) {
  const auto count = static_cast<T>(cols);
  mean[0] = sum(cols, x) / count;
  const TwoSums<T> sums = sums_of<T>(cols, [x, near = mean[0]](int64_t i, T& rest, T& squares) {
    const T d = x[i] - near;
    rest += d;
    squares += d * d;
  });
  mean[1] = sums[0] / count;
  const T variance = sums[1] / count - mean[1] * mean[1];
  const T square = (variance < T{0} ? T{0} : variance) + eps;  // fmax would drop NaN
  *rstd = is_ordinary(square) ? T{1} / std::sqrt(square) : wide_rstd(cols, eps, mean, x);
  const T near = mean[0], rest = mean[1], r = *rstd;
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
  const TwoSums<T> sums = sums_of<T>(cols, [=](int64_t i, T& sum_g, T& sum_gx) {
    const T g = weight ? gy[i] * weight[i] : gy[i];
    gx[i] = g;
    sum_g += g;
    sum_gx += g * ((x[i] - near - rest) * rstd);
  });
  const T mean_g = sums[0] / static_cast<T>(cols), mean_gx = sums[1] / static_cast<T>(cols);
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
void rms_norm(int64_t rows, int64_t cols, T eps, T* y, T* rstd, const T* x, const T* weight) {
  for (; rows > 0; --rows, y += cols, x += cols) {
    const T square = sum_of<T>(cols, [x](int64_t i) { return x[i] * x[i]; }) / static_cast<T>(cols) + eps;
    const T r =
        is_ordinary(square) ? T{1} / std::sqrt(square) : wide_rstd(cols, eps, static_cast<T*>(nullptr), x);
    *rstd++ = r;
#pragma omp simd
    for (int64_t i = 0; i < cols; ++i) y[i] = weight ? x[i] * r * weight[i] : x[i] * r;
  }
}

// gx = sum + rstd * (g - xhat * mean(g * xhat)), g = gy * weight, xhat = x * rstd.
template <class T>
void rms_norm_grad(int64_t rows, int64_t cols, T* gx, T* gw, const T* gy, const T* x, const T* rstd,
                   const T* weight, const T* sum) {
  for (; rows > 0; --rows, gy += cols, x += cols) {
    const T r = *rstd++;
    if (gw) {
#pragma omp simd
      for (int64_t i = 0; i < cols; ++i) gw[i] += gy[i] * (x[i] * r);
    }
    if (!gx) continue;
    const T total =
        sum_of<T>(cols, [=](int64_t i) { return (weight ? gy[i] * weight[i] : gy[i]) * (x[i] * r); });
    const T along = total / static_cast<T>(cols);
#pragma omp simd
    for (int64_t i = 0; i < cols; ++i) {
      const T g = r * ((weight ? gy[i] * weight[i] : gy[i]) - x[i] * r * along);
      gx[i] = sum ? sum[i] + g : g;
    }
    gx += cols;
    if (sum) sum += cols;
  }
}

GRADUS_BUILD(RMSNormLoops, rms_norm<T>, rms_norm_grad<T>);

}  // namespace gradus::kernels::GRADUS_ISA
