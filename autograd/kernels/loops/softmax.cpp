// Loops of softmax, log_softmax and logsumexp over one row, and their gradients.
#include <cmath>

#include "gradus/autograd/kernels/elementwise/rows.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/loops/math.hpp"
#include "gradus/autograd/kernels/loops/sums.hpp"

namespace gradus::kernels::GRADUS_ISA {

template <class T>
void softmax(int64_t cols, T* y, const T* x) {
  const T largest = extreme_number<T, Reduce::max>(cols, x);
#pragma omp simd
  for (int64_t i = 0; i < cols; ++i) y[i] = exp_(x[i] - largest);
  T total = 0;
  if (cols < kShortRow) {
    for (int64_t i = 0; i < cols; ++i) total += y[i];
  } else {
    total = sum(cols, y);
  }
  const T scale = T{1} / total;
#pragma omp simd
  for (int64_t i = 0; i < cols; ++i) y[i] *= scale;
}

template <class T>
T logsumexp(int64_t cols, const T* x) {
  const ShiftedSum<T> parts = shifted_sum(cols, x);
  return parts.shift + std::log(parts.sum);
}

template <class T>
void log_softmax(int64_t cols, T* y, const T* x) {
  const ShiftedSum<T> parts = shifted_sum(cols, x);
  const T log = std::log(parts.sum_of_shares());
#pragma omp simd
  for (int64_t i = 0; i < cols; ++i) y[i] = (x[i] - parts.shift) - log;
}

template <class T>
void softmax_grad(int64_t cols, T* gx, const T* gy, const T* y) {
  const T along = sum_of<T>(cols, [=](int64_t i) { return gy[i] * y[i]; });
#pragma omp simd
  for (int64_t i = 0; i < cols; ++i) gx[i] = y[i] * (gy[i] - along);
}

template <class T>
void log_softmax_grad(int64_t cols, T* gx, const T* gy, const T* y) {
  const T total = sum(cols, gy);
#pragma omp simd
  for (int64_t i = 0; i < cols; ++i) gx[i] = gy[i] - exp_(y[i]) * total;
}

GRADUS_BUILD(SoftmaxLoops, softmax<T>, log_softmax<T>, logsumexp<T>, softmax_grad<T>, log_softmax_grad<T>);

}  // namespace gradus::kernels::GRADUS_ISA
