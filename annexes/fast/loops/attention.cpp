// The loops of attention over a row of scores.
#include "gradus/annexes/fast/attention/attention_loops.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/loops/math.hpp"
#include "gradus/autograd/kernels/loops/vector.hpp"

namespace gradus::kernels::GRADUS_ISA {

// Whole vectors, up to the margin of the row: a remainder loop would take as long as the causal row.
inline int64_t whole_vectors(int64_t n) { return (n + 15) / 16 * 16; }

template <class T>
void zero_rest(int64_t n, int64_t end, T* row) {
  const int64_t least = n + kAttentionMargin;
  for (int64_t i = n; i < (end > least ? end : least); i += kLanes<T>) store(row + i, Vector<T>{});
}

/// The first `count` lanes of x; the others of `rest`.
template <class T>
Vector<T> first_lanes(int64_t count, Vector<T> x, Vector<T> rest) {
  Vector<T> lane;
  for (int i = 0; i < kLanes<T>; ++i) lane[i] = static_cast<T>(i);
  return lane < static_cast<T>(count) ? x : rest;
}

template <class T>
T attention_exponentials(int64_t n, int64_t end, T* s, T scale, T* max) {
  Vector<T> largest = broadcast(*max);
  for (int64_t i = 0; i < n; i += kLanes<T>) {
    const Vector<T> x = first_lanes<T>(n - i, load(s + i) * scale, largest);
    largest = x > largest ? x : largest;
  }
  *max = fold_lanes(largest, [](auto a, auto b) { return a > b ? a : b; });
  // -inf - -inf is NaN, where exp should give 0.
  const T base = *max == -__builtin_huge_val() ? T{0} : *max;
#pragma omp simd
  for (int64_t i = 0; i < whole_vectors(n); ++i) s[i] = exp_(s[i] * scale - base);
  Vector<T> sums = {};
  for (int64_t i = 0; i < n; i += kLanes<T>) sums += first_lanes<T>(n - i, load(s + i), Vector<T>{});
  zero_rest(n, end, s);
  return fold_lanes(sums, [](auto a, auto b) { return a + b; });
}

template <bool kDropout, class T>
void row_gradients(int64_t n, int64_t end, T* s, T* g, T scale, T max, T share, T delta, const T* factor) {
#pragma omp simd
  for (int64_t i = 0; i < whole_vectors(n); ++i) {
    const T p = exp_(s[i] * scale - max) * share, f = kDropout ? factor[i] : T{1};
    g[i] = scale * p * (g[i] * f - delta);
    s[i] = p * f;
  }
  zero_rest(n, end, s);
  zero_rest(n, end, g);
}

template <class T>
void attention_gradients(int64_t n, int64_t end, T* s, T* g, T scale, T max, T share, T delta,
                         const T* factor) {
  if (factor) {
    row_gradients<true>(n, end, s, g, scale, max, share, delta, factor);
  } else {
    row_gradients<false>(n, end, s, g, scale, max, share, delta, factor);
  }
}

template <class T>
T attention_dot(int64_t n, const T* a, const T* b) {
  Vector<T> sums = {};
  int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) sums += load(a + i) * load(b + i);
  T sum = fold_lanes(sums, [](auto x, auto y) { return x + y; });
  for (; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

GRADUS_BUILD(AttentionLoops, attention_exponentials<T>, attention_gradients<T>, attention_dot<T>);

}  // namespace gradus::kernels::GRADUS_ISA
