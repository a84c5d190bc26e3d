// Loops of the linear recurrence.
#include "gradus/autograd/kernels/elementwise/rows.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"

namespace gradus::kernels::GRADUS_ISA {

template <class T>
void linear_recurrence(int64_t n, int64_t stride, int64_t cols, T* h, const T* a, const T* b) {
  for (int64_t i = 0; i < cols; ++i) h[i] = b[i];
  for (int64_t t = 1; t < n; ++t) {
    const T* const before = h;
    h += stride, a += stride, b += stride;
#pragma omp simd
    for (int64_t i = 0; i < cols; ++i) h[i] = a[i] * before[i] + b[i];
  }
}

// Backwards in t: gb_t = gh_t + a_(t+1) * gb_(t+1), ga_t = gb_t * h_(t-1).
template <class T>
void linear_recurrence_grad(int64_t n, int64_t stride, int64_t cols, T* ga, T* gb, const T* gh, const T* a,
                            const T* h) {
  for (int64_t t = n - 1; t >= 0; --t) {
    const int64_t at = t * stride;
    T* const g = gb + at;
    if (t == n - 1) {
      for (int64_t i = 0; i < cols; ++i) g[i] = gh[at + i];
    } else {
      const T *after = g + stride, *decay = a + at + stride, *upstream = gh + at;
#pragma omp simd
      for (int64_t i = 0; i < cols; ++i) g[i] = decay[i] * after[i] + upstream[i];
    }
    if (!ga) continue;
    if (t == 0) {
      for (int64_t i = 0; i < cols; ++i) ga[i] = 0;
    } else {
      const T* const before = h + at - stride;
      T* const to = ga + at;
#pragma omp simd
      for (int64_t i = 0; i < cols; ++i) to[i] = g[i] * before[i];
    }
  }
}

GRADUS_BUILD(RecurrenceLoops, linear_recurrence<T>, linear_recurrence_grad<T>);

}  // namespace gradus::kernels::GRADUS_ISA
