// Sums and extremes of one row, which softmax, cross-entropy, norms and reductions share.
#pragma once

#include <limits>

#include "gradus/autograd/kernels/elementwise/reduce.hpp"
#include "gradus/autograd/kernels/loops/math.hpp"
#include "gradus/autograd/kernels/loops/vector.hpp"

namespace gradus::kernels::GRADUS_ISA {

constexpr int64_t kSumChunk = 1024;  // elements that are summed in order, before pairwise sums

// The number of lanes of a sum is the same at every level, so that the bits are too.
template <class T>
constexpr int kSumLanes = 64 / sizeof(T);
// Shorter rows are summed in PyTorch's order, so that they print the same digits.
constexpr int64_t kShortRow = 8;

template <class T>
T short_sum(int64_t n, const T* x) {
  T part[4] = {};
  const int64_t apart = n < 4 ? 0 : 4;
  for (int64_t i = 0; i < apart; ++i) part[i] = x[i];
  for (int64_t i = apart; i < n; ++i) part[0] += x[i];
  return part[0] + part[1] + part[2] + part[3];
}

template <class T>
T plain_sum(int64_t n, const T* x) {
  if (n < kShortRow) return short_sum(n, x);
  constexpr int kVectors = kSumLanes<T> / kLanes<T>;
  Vector<T> sums[kVectors] = {};
  int64_t i = 0;
  for (; i + kSumLanes<T> <= n; i += kSumLanes<T>)
#pragma GCC unroll 8  // or gcc keeps the sums in memory
    for (int v = 0; v < kVectors; ++v) sums[v] += load(x + i + v * kLanes<T>);
  if (i < n) {
    T lane[kSumLanes<T>];
    for (int v = 0; v < kVectors; ++v) store(lane + v * kLanes<T>, sums[v]);
    for (int64_t l = 0; l < n - i; ++l) lane[l] += x[i + l];
    for (int v = 0; v < kVectors; ++v) sums[v] = load(lane + v * kLanes<T>);
  }
  for (int width = kVectors / 2; width > 0; width /= 2)
    for (int v = 0; v < width; ++v) sums[v] += sums[v + width];
  return fold_lanes(sums[0], [](auto a, auto b) { return a + b; });
}

// term(begin, end), added pairwise over chunks of [0, n): the error grows with the logarithm of n (Higham,
// 1993). A stack holds the sums that wait for one of equal size.
template <class Term>
[[gnu::always_inline]] inline auto sum_of_chunks(int64_t n, Term term) {
  if (n <= kSumChunk) return term(int64_t{0}, n);
  decltype(term(n, n)) waiting[64];
  int depth = 0;
  uint64_t count = 0;
  for (int64_t i = 0; i < n; i += kSumChunk) {
    auto part = term(i, n - i < kSumChunk ? n : i + kSumChunk);
    for (uint64_t bits = count++; bits & 1; bits >>= 1) part = waiting[--depth] + part;
    waiting[depth++] = part;
  }
  auto total = waiting[--depth];
  while (depth > 0) total = waiting[--depth] + total;
  return total;
}

template <class T>
T sum(int64_t n, const T* x) {
  return sum_of_chunks(n, [x](int64_t begin, int64_t end) { return plain_sum(end - begin, x + begin); });
}

// The sum of term(i) over [0, n).
template <class T, class Term>
[[gnu::always_inline]] inline T sum_of(int64_t n, Term term) {
  return sum_of_chunks(n, [=](int64_t begin, int64_t end) {
    T total = 0;
#pragma omp simd reduction(+ : total)
    for (int64_t i = begin; i < end; ++i) total += term(i);
    return total;
  });
}

// Two such sums in one pass; term(i, a, b) adds to a and b.
template <class T>
using TwoSums = typename Simd<T, 2 * sizeof(T)>::Vector;

template <class T, class Term>
[[gnu::always_inline]] inline TwoSums<T> sums_of(int64_t n, Term term) {
  return sum_of_chunks(n, [=](int64_t begin, int64_t end) {
    T a = 0, b = 0;
#pragma omp simd reduction(+ : a, b)
    for (int64_t i = begin; i < end; ++i) term(i, a, b);
    return TwoSums<T>{a, b};
  });
}

// The largest or smallest element that is not NaN. In explicit vectors, because OpenMP's max starts from the
// least finite number.
template <class T, Reduce kOp>
T extreme_number(int64_t n, const T* x) {
  constexpr bool kMax = kOp == Reduce::max;
  const auto better = [](auto a, auto b) { return (kMax ? a > b : a < b) ? a : b; };
  Vector<T> lanes = broadcast<T>(kMax ? -__builtin_huge_val() : __builtin_huge_val());
  int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) lanes = better(load(x + i), lanes);
  T best[kLanes<T>];
  store(best, lanes);
  for (int lane = 0; lane < n - i; ++lane) best[lane] = better(x[i + lane], best[lane]);
  for (int width = kLanes<T> / 2; width > 0; width /= 2)
    for (int lane = 0; lane < width; ++lane) best[lane] = better(best[lane + width], best[lane]);
  return best[0];
}

// The sum of exp(x - shift); NaN if x has one.
template <class T>
T sum_of_exponentials(int64_t n, const T* x, T shift) {
  return sum_of<T>(n, [=](int64_t i) { return exp_(x[i] - shift); });
}

// logsumexp as the shift before exp and the sum: separately they keep the digits of x - logsumexp(x) for
// large x. An infinite shift is omitted, because inf - inf is NaN.
template <class T>
struct ShiftedSum {
  T shift, sum;

  // NaN for a row with +inf, whose shares are not defined.
  T sum_of_shares() const { return sum < std::numeric_limits<T>::infinity() ? sum : sum - sum; }
};

template <class T>
ShiftedSum<T> shifted_sum(int64_t n, const T* x) {
  const T largest = extreme_number<T, Reduce::max>(n, x);
  const T shift = largest - largest == T{0} ? largest : T{0};
  return {shift, sum_of_exponentials(n, x, shift)};
}

}  // namespace gradus::kernels::GRADUS_ISA
