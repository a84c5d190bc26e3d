// Dot products of a vector with rows of weights, float32, float64 or bfloat16.
#include "gradus/autograd/kernels/blas/few_rows.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/loops/vector.hpp"

namespace gradus::kernels::GRADUS_ISA {

inline float value_of(float x) { return x; }
inline double value_of(double x) { return x; }
inline float value_of(bfloat16 x) {
  const uint32_t bits = uint32_t{x.bits} << 16;
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

// Four rows at a time hide the latency of the sums, and share the loads of x.
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

// Two vectors of x, and the conversion of the corresponding weights to float32.
template <class W>
struct Pair {
  Vector<float> x[2];

  explicit Pair(const float* from) : x{load(from), load(from + kLanes<float>)} {}
  static Vector<float> weights(const W* from, int i) { return load(from + i * kLanes<float>); }
};

// bfloat16 is the upper half of a float32: of two neighbours one is shifted, the other masked, which
// separates even and odd positions.
template <>
struct Pair<bfloat16> {
  Vector<float> x[2];

  explicit Pair(const float* from) {
    const Vector<float> a = load(from), b = load(from + kLanes<float>);
    x[0] = every_second<0>(a, b);
    x[1] = every_second<1>(a, b);
  }
  static Vector<float> weights(const bfloat16* from, int i) {
    Vector<uint32_t> both;
    __builtin_memcpy(&both, from, sizeof both);
    return reinterpret_cast<Vector<float>>(i == 0 ? both << 16 : both & 0xFFFF0000);
  }
};

// The sum of the groups of four lanes.
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

// Prefetches `count` weights, further on in the row or in the next one, because processors with slow memory
// do not prefetch enough for four streams.
template <int count, class W>
void prefetch_later(const W* weights) {
  constexpr int kStreamAhead = 2048;
  for (size_t byte = 0; byte < count * sizeof(W); byte += 64)
    __builtin_prefetch(reinterpret_cast<const char*>(weights) + kStreamAhead + byte);
}

// Uses whole vectors, because compilers do not find this form.
template <class W>
void dots(int64_t n, const float* x, const W* const* rows, float* sums) {
  constexpr int kVector = kLanes<float>;
  Vector<float> sum[4][2];
  for (int r = 0; r < 4; ++r) sum[r][0] = sum[r][1] = broadcast(0.0F);
  int64_t i = 0;
  for (; i + 2 * kVector <= n; i += 2 * kVector) {
    const Pair<W> pair(x + i);
    for (int r = 0; r < 4; ++r) prefetch_later<2 * kVector>(rows[r] + i);
    for (int r = 0; r < 4; ++r)
      for (int half = 0; half < 2; ++half)
        sum[r][half] = fused(pair.x[half], Pair<W>::weights(rows[r] + i, half), sum[r][half]);
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

GRADUS_BUILD(DotsLoops, dots, dots);

}  // namespace gradus::kernels::GRADUS_ISA
