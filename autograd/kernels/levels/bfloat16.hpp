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

// As many as fit a vector of float32.
inline Vector<float> load_widened(const bfloat16* from) {
  typedef uint16_t Half __attribute__((vector_size(kVectorBytes / 2)));
  Half half;
  __builtin_memcpy(&half, from, sizeof half);
  return reinterpret_cast<Vector<float>>(__builtin_convertvector(half, Vector<uint32_t>) << 16);
}

// The same written in whole vectors, which a compiler does not find.
inline void dots_bfloat16(int64_t n, const float* x, const bfloat16* const* rows, float* sums) {
  constexpr int kStep = kLanes<float>;
  Vector<float> sum[4][2] = {};
  int64_t i = 0;
  for (; i + 2 * kStep <= n; i += 2 * kStep) {
    // Rows are too short for the processor to see what comes next: it is the following four.
    for (int r = 0; r < 4; ++r) __builtin_prefetch(rows[r] + i + 4 * n);
    for (int half = 0; half < 2; ++half) {
      const Vector<float> v = load(x + i + half * kStep);
      for (int r = 0; r < 4; ++r)
        sum[r][half] = fused(v, load_widened(rows[r] + i + half * kStep), sum[r][half]);
    }
  }
  for (int r = 0; r < 4; ++r) {
    const Vector<float> both = sum[r][0] + sum[r][1];
    float total = 0;
    for (int lane = 0; lane < kStep; ++lane) total += both[lane];
    for (int64_t rest = i; rest < n; ++rest) total += x[rest] * widened(rows[r][rest]);
    sums[r] = total;
  }
}

}  // namespace gradus::kernels::GRADUS_LEVEL
