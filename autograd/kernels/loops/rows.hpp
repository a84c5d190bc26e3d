// Shared by loops over one row: sums, and the sums of exponentials of softmax and its relatives.
#pragma once

#include <limits>
#include <utility>

#include "gradus/autograd/kernels/elementwise/reduce.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/loops/math.hpp"
#include "gradus/autograd/kernels/loops/vector.hpp"

namespace gradus::kernels::GRADUS_ISA {

constexpr int64_t kSumChunk = 1024;  // elements that are added up in a row before sums are added to sums

// Lanes that add up side by side: as many at every level, so that neither bits nor errors depend on it.
template <class T>
constexpr int kSumLanes = 64 / sizeof(T);
// Rows shorter than this are added up in PyTorch's order, so that they print the same digits.
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

// Pairwise over blocks: the error grows with the logarithm of n (Higham, 1993). Sums of equal size wait for
// each other in a stack, as bits do in a counter.
template <class T>
T sum(int64_t n, const T* x) {
  if (n <= kSumChunk) return plain_sum(n, x);
  T waiting[64];
  int depth = 0;
  uint64_t count = 0;
  for (int64_t i = 0; i < n; i += kSumChunk) {
    T part = plain_sum(n - i < kSumChunk ? n - i : kSumChunk, x + i);
    for (uint64_t bits = count++; bits & 1; bits >>= 1) part = waiting[--depth] + part;
    waiting[depth++] = part;
  }
  T total = waiting[--depth];
  while (depth > 0) total = waiting[--depth] + total;
  return total;
}

// out = op(out, row) for each row: the columns of a matrix. NaN stays in max and min once it is there.
template <class T, Reduce kOp>
void fold_rows(int64_t rows, int64_t cols, T* out, const T* x, int64_t row_stride) {
  for (int64_t r = 0; r < rows; ++r) {
    const T* row = x + r * row_stride;
#pragma omp simd
    for (int64_t c = 0; c < cols; ++c) {
      const T a = out[c], b = row[c];
      if constexpr (kOp == Reduce::sum) out[c] = a + b;
      if constexpr (kOp == Reduce::max) out[c] = b > a || b != b ? b : a;
      if constexpr (kOp == Reduce::min) out[c] = b < a || b != b ? b : a;
    }
  }
}

// The largest or smallest element that is not NaN. In explicit vectors: OpenMP's max starts from the least
// finite number.
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

template <class T>
bool has_nan(int64_t n, const T* x) {
  int32_t strange = 0;
#pragma omp simd reduction(| : strange)
  for (int64_t i = 0; i < n; ++i) strange |= x[i] != x[i] ? 1 : 0;
  return strange != 0;
}

template <class T, Reduce kOp>
T fold(int64_t n, const T* x) {
  if constexpr (kOp == Reduce::sum) return sum(n, x);
  if (has_nan(n, x)) return static_cast<T>(__builtin_nan(""));
  return extreme_number<T, kOp>(n, x);
}

// The sum of exp(x - shift). A NaN in x gets into it.
template <class T>
T sum_of_exponentials(int64_t n, const T* x, T shift) {
  T total = 0;
#pragma omp simd reduction(+ : total)
  for (int64_t i = 0; i < n; ++i) total += exp_(x[i] - shift);
  return total;
}

// The two parts of logsumexp: the shift before exp, and the sum. Apart they keep the digits of x -
// logsumexp(x) where x is large. Infinities are not taken off, as inf - inf would be NaN.
template <class T>
struct ShiftedSum {
  T shift, sum;

  // In a row with +inf nothing has a share: NaN, where the sum is inf.
  T sum_of_shares() const { return sum < std::numeric_limits<T>::infinity() ? sum : sum - sum; }
};

template <class T>
ShiftedSum<T> shifted_sum(int64_t n, const T* x) {
  const T largest = extreme_number<T, Reduce::max>(n, x);
  const T shift = largest - largest == T{0} ? largest : T{0};
  return {shift, sum_of_exponentials(n, x, shift)};
}

}  // namespace gradus::kernels::GRADUS_ISA
