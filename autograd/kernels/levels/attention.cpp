// Attention's inner loops: what happens to a row of scores.
#include "gradus/autograd/kernels/attention_loops.hpp"
#include "gradus/autograd/kernels/level.hpp"
#include "gradus/autograd/kernels/levels/math.hpp"
#include "gradus/autograd/kernels/levels/vector.hpp"

namespace gradus::kernels::GRADUS_LEVEL {

// Rows of scores are worked on in whole vectors, into their margin: a causal row has any length, and a
// remainder loop would take as long as the row.
constexpr int64_t kRowStep = 16;

inline int64_t whole_vectors(int64_t n) { return (n + kRowStep - 1) / kRowStep * kRowStep; }

template <class T>
void zero_margin(int64_t n, T* row) {
  for (int64_t i = n; i < n + kAttentionMargin; ++i) row[i] = 0;
}

/// The first `count` lanes of x, and in the others `rest`.
template <class T>
Vector<T> first_lanes(int64_t count, Vector<T> x, Vector<T> rest) {
  Vector<T> lane;
  for (int i = 0; i < kLanes<T>; ++i) lane[i] = static_cast<T>(i);
  return lane < static_cast<T>(count) ? x : rest;
}

template <class T>
T attention_exponentials(int64_t n, T* s, T scale, T* max) {
  Vector<T> largest = broadcast(*max);
  for (int64_t i = 0; i < n; i += kLanes<T>) {
    const Vector<T> x = first_lanes<T>(n - i, load(s + i) * scale, largest);
    largest = x > largest ? x : largest;
  }
  for (int lane = 0; lane < kLanes<T>; ++lane) *max = largest[lane] > *max ? largest[lane] : *max;
  // -inf - -inf is NaN, where exp should give 0.
  const T base = *max == -__builtin_huge_val() ? T{0} : *max;
#pragma omp simd
  for (int64_t i = 0; i < whole_vectors(n); ++i) s[i] = exp_(s[i] * scale - base);
  Vector<T> sums = {};
  for (int64_t i = 0; i < n; i += kLanes<T>) sums += first_lanes<T>(n - i, load(s + i), Vector<T>{});
  zero_margin(n, s);
  T sum = 0;
  for (int lane = 0; lane < kLanes<T>; ++lane) sum += sums[lane];
  return sum;
}

template <bool kDropout, class T>
void row_gradients(int64_t n, T* s, T* g, T scale, T max, T share, T delta, const T* factor) {
#pragma omp simd
  for (int64_t i = 0; i < whole_vectors(n); ++i) {
    const T p = exp_(s[i] * scale - max) * share, f = kDropout ? factor[i] : T{1};
    g[i] = scale * p * (g[i] * f - delta);
    s[i] = p * f;
  }
  zero_margin(n, s);
  zero_margin(n, g);
}

template <class T>
void attention_gradients(int64_t n, T* s, T* g, T scale, T max, T share, T delta, const T* factor) {
  if (factor) {
    row_gradients<true>(n, s, g, scale, max, share, delta, factor);
  } else {
    row_gradients<false>(n, s, g, scale, max, share, delta, factor);
  }
}

GRADUS_BUILD(AttentionLoops, attention_exponentials<T>, attention_gradients<T>);

}  // namespace gradus::kernels::GRADUS_LEVEL
