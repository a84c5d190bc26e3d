// Dot products with weights in bfloat16.
#pragma once

#include "gradus/autograd/kernels/level.hpp"
#include "gradus/autograd/kernels/levels/vector.hpp"

namespace gradus::kernels::GRADUS_LEVEL {

inline float widened(bfloat16 x) {
  const uint32_t bits = uint32_t{x.bits} << 16;
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

// Four rows side by side: one alone would wait for its own sum, and x is loaded once for all.
template <class T>
void dots_bfloat16(int64_t n, const T* x, const bfloat16* const* rows, T* sums) {
  const bfloat16 *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3];
  T sum_a = 0, sum_b = 0, sum_c = 0, sum_d = 0;
#pragma omp simd reduction(+ : sum_a, sum_b, sum_c, sum_d)
  for (int64_t i = 0; i < n; ++i) {
    const T v = x[i];
    sum_a += v * static_cast<T>(widened(a[i]));
    sum_b += v * static_cast<T>(widened(b[i]));
    sum_c += v * static_cast<T>(widened(c[i]));
    sum_d += v * static_cast<T>(widened(d[i]));
  }
  sums[0] = sum_a;
  sums[1] = sum_b;
  sums[2] = sum_c;
  sums[3] = sum_d;
}

}  // namespace gradus::kernels::GRADUS_LEVEL
