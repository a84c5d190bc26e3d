// Dot products of a vector with rows of weights, float32, float64 or bfloat16.
#pragma once

#include "gradus/autograd/kernels/level.hpp"
#include "gradus/autograd/kernels/levels/vector.hpp"

namespace gradus::kernels::GRADUS_LEVEL {

inline float value_of(float x) { return x; }
inline double value_of(double x) { return x; }
inline float value_of(bfloat16 x) {
  const uint32_t bits = uint32_t{x.bits} << 16;
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

// Four rows side by side: one alone would wait for its own sum, and x is loaded once for all.
template <class T, class W>
void dots(int64_t n, const T* x, const W* const* rows, T* sums) {
  const W *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3];
  T sum_a = 0, sum_b = 0, sum_c = 0, sum_d = 0;
#pragma omp simd reduction(+ : sum_a, sum_b, sum_c, sum_d)
  for (int64_t i = 0; i < n; ++i) {
    const T v = x[i];
    sum_a += v * static_cast<T>(value_of(a[i]));
    sum_b += v * static_cast<T>(value_of(b[i]));
    sum_c += v * static_cast<T>(value_of(c[i]));
    sum_d += v * static_cast<T>(value_of(d[i]));
  }
  sums[0] = sum_a;
  sums[1] = sum_b;
  sums[2] = sum_c;
  sums[3] = sum_d;
}

// As many as fit a vector of float32.
inline Vector<float> load(const bfloat16* from) {
  typedef uint16_t Half __attribute__((vector_size(kVectorBytes / 2)));
  Half half;
  __builtin_memcpy(&half, from, sizeof half);
  return reinterpret_cast<Vector<float>>(__builtin_convertvector(half, Vector<uint32_t>) << 16);
}

// Its fours added up.
inline Four<float> folded(const Vector<float>& x) {
  float lanes[kLanes<float>];
  store(lanes, x);
  Four<float> sum;
  __builtin_memcpy(&sum, lanes, sizeof sum);
  for (int i = 4; i < kLanes<float>; i += 4) {
    Four<float> next;
    __builtin_memcpy(&next, lanes + i, sizeof next);
    sum += next;
  }
  return sum;
}

// The same written in whole vectors, which a compiler does not find.
template <class W>
void dots(int64_t n, const float* x, const W* const* rows, float* sums) {
  constexpr int kStep = kLanes<float>;
  Vector<float> sum[4][2];
  for (int r = 0; r < 4; ++r) sum[r][0] = sum[r][1] = broadcast(0.0F);
  int64_t i = 0;
  for (; i + 2 * kStep <= n; i += 2 * kStep)
    for (int half = 0; half < 2; ++half) {
      const Vector<float> v = load(x + i + half * kStep);
      for (int r = 0; r < 4; ++r) sum[r][half] = fused(v, load(rows[r] + i + half * kStep), sum[r][half]);
    }
  Four<float> totals[4];
  for (int r = 0; r < 4; ++r) totals[r] = folded(sum[r][0] + sum[r][1]);
  transpose(totals);
  const Four<float> all_lanes = (totals[0] + totals[1]) + (totals[2] + totals[3]);
  for (int r = 0; r < 4; ++r) {
    sums[r] = all_lanes[r];
    for (int64_t rest = i; rest < n; ++rest) sums[r] += x[rest] * value_of(rows[r][rest]);
  }
}

}  // namespace gradus::kernels::GRADUS_LEVEL
