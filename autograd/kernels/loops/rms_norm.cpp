// Root mean square normalisation of one row.
#include "gradus/autograd/kernels/rows/rms_norm.hpp"

#include <cmath>

#include "gradus/autograd/kernels/isa/isa.hpp"

namespace gradus::kernels::GRADUS_ISA {

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
