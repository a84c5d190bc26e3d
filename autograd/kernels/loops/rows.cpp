// Loops over one row: sums and other reductions, softmax, cross-entropy, norms; and the linear recurrence.
#include <cmath>
#include <limits>
#include <utility>

#include "gradus/autograd/kernels/elementwise/reduce.hpp"
#include "gradus/autograd/kernels/elementwise/rows.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
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

// Pairwise over chunks: the error grows with the logarithm of n (Higham, 1993). A stack holds the sums that
// wait for one of equal size.
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

// out = op(out, row) for each row, by columns. A NaN makes max and min NaN.
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

template <class T>
bool has_nan(int64_t n, const T* x) {
  int32_t any = 0;
#pragma omp simd reduction(| : any)
  for (int64_t i = 0; i < n; ++i) any |= x[i] != x[i] ? 1 : 0;
  return any != 0;
}

template <class T, Reduce kOp>
T fold(int64_t n, const T* x) {
  if constexpr (kOp == Reduce::sum) return sum(n, x);
  if (has_nan(n, x)) return static_cast<T>(__builtin_nan(""));
  return extreme_number<T, kOp>(n, x);
}

// The sum of exp(x - shift); NaN if x has one.
template <class T>
T sum_of_exponentials(int64_t n, const T* x, T shift) {
  T total = 0;
#pragma omp simd reduction(+ : total)
  for (int64_t i = 0; i < n; ++i) total += exp_(x[i] - shift);
  return total;
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
  T along = 0;
#pragma omp simd reduction(+ : along)
  for (int64_t i = 0; i < cols; ++i) along += gy[i] * y[i];
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

template <class T>
void cross_entropy(int64_t classes, T* loss, T* row_sum, const T* x, int64_t target) {
  const ShiftedSum<T> parts = shifted_sum(classes, x);
  row_sum[0] = parts.shift;
  row_sum[1] = parts.sum_of_shares();
  *loss = std::log(row_sum[1]) - (x[target] - parts.shift);
}

template <class T>
void cross_entropy_grad(int64_t classes, T* gx, T scale, const T* x, const T* row_sum, int64_t target) {
  const T shift = row_sum[0], factor = scale / row_sum[1];
  const T share = exp_(x[target] - shift) / row_sum[1];  // before gx, which may be x, is written
#pragma omp simd
  for (int64_t i = 0; i < classes; ++i) gx[i] = factor * exp_(x[i] - shift);
  // 1 - share has few digits near share = 1; the sum of the other shares has all.
  if (share > T(0.5)) {
    gx[target] = T{0} - (sum(target, gx) + sum(classes - target - 1, gx + target + 1));
  } else {
    gx[target] -= scale;
  }
}

GRADUS_BUILD(CrossEntropyLoops, cross_entropy<T>, cross_entropy_grad<T>);

template <class T, int... kOp>
constexpr ReduceLoops<T> reduce_loops(std::integer_sequence<int, kOp...>) {
  return {{fold<T, Reduce{kOp}>...}, {fold_rows<T, Reduce{kOp}>...}};
}

GRADUS_BUILD(ReduceLoops, reduce_loops<T>(EachOf<Reduce>()));

// The mean is rounded. Subtracting the mean of x - mean as well makes a constant row exactly zero, and keeps
// the digits of rows far from zero. The two parts are kept for the gradients: mean[0] + mean[1].
template <class T>
void layer_norm(int64_t cols, T eps, T* y, T* mean, T* rstd, const T* x, const T* weight, const T* bias) {
  const auto count = static_cast<T>(cols);
  const T near = sum(cols, x) / count;
  T rest = 0, squares = 0;
#pragma omp simd reduction(+ : rest, squares)
  for (int64_t i = 0; i < cols; ++i) {
    const T d = x[i] - near;
    rest += d;
    squares += d * d;
  }
  rest /= count;
  const T variance = squares / count - rest * rest;
  const T r = T{1} / std::sqrt((variance < T{0} ? T{0} : variance) + eps);  // fmax would drop NaN
  mean[0] = near;
  mean[1] = rest;
  *rstd = r;
  if (weight && bias) {
#pragma omp simd
    for (int64_t i = 0; i < cols; ++i) y[i] = (x[i] - near - rest) * r * weight[i] + bias[i];
    return;
  }
#pragma omp simd
  for (int64_t i = 0; i < cols; ++i) y[i] = (x[i] - near - rest) * r;
  if (weight) {
#pragma omp simd
    for (int64_t i = 0; i < cols; ++i) y[i] *= weight[i];
  }
  if (bias) {
#pragma omp simd
    for (int64_t i = 0; i < cols; ++i) y[i] += bias[i];
  }
}

// gx = rstd * (g - mean(g) - xhat * mean(g * xhat)), g = gy * weight.
template <class T>
void layer_norm_gx(int64_t cols, T* gx, const T* gy, const T* x, const T* mean, T rstd, const T* weight) {
  const T near = mean[0], rest = mean[1];
  T sum_g = 0, sum_gx = 0;
#pragma omp simd reduction(+ : sum_g, sum_gx)
  for (int64_t i = 0; i < cols; ++i) {
    const T g = weight ? gy[i] * weight[i] : gy[i];
    gx[i] = g;
    sum_g += g;
    sum_gx += g * ((x[i] - near - rest) * rstd);
  }
  const T mean_g = sum_g / static_cast<T>(cols), mean_gx = sum_gx / static_cast<T>(cols);
#pragma omp simd
  for (int64_t i = 0; i < cols; ++i) gx[i] = rstd * (gx[i] - mean_g - (x[i] - near - rest) * rstd * mean_gx);
}

template <class T>
void layer_norm_gw(int64_t cols, T* gw, T* gb, const T* gy, const T* x, const T* mean, T rstd) {
  const T near = mean[0], rest = mean[1];
  if (gw) {
#pragma omp simd
    for (int64_t i = 0; i < cols; ++i) gw[i] += gy[i] * ((x[i] - near - rest) * rstd);
  }
  if (gb) {
#pragma omp simd
    for (int64_t i = 0; i < cols; ++i) gb[i] += gy[i];
  }
}

GRADUS_BUILD(LayerNormLoops, layer_norm<T>, layer_norm_gx<T>, layer_norm_gw<T>);

template <class T>
void rms_norm(int64_t rows, int64_t cols, T eps, T* y, T* rstd, const T* x, const T* weight) {
  for (; rows > 0; --rows, y += cols, x += cols) {
    T squares = 0;
#pragma omp simd reduction(+ : squares)
    for (int64_t i = 0; i < cols; ++i) squares += x[i] * x[i];
    const T r = T{1} / std::sqrt(squares / static_cast<T>(cols) + eps);
    *rstd++ = r;
#pragma omp simd
    for (int64_t i = 0; i < cols; ++i) y[i] = weight ? x[i] * r * weight[i] : x[i] * r;
  }
}

// gx = sum + rstd * (g - xhat * mean(g * xhat)), g = gy * weight, xhat = x * rstd.
template <class T>
void rms_norm_grad(int64_t rows, int64_t cols, T* gx, T* gw, const T* gy, const T* x, const T* rstd,
                   const T* weight, const T* sum) {
  for (; rows > 0; --rows, gy += cols, x += cols) {
    const T r = *rstd++;
    if (gw) {
#pragma omp simd
      for (int64_t i = 0; i < cols; ++i) gw[i] += gy[i] * (x[i] * r);
    }
    if (!gx) continue;
    T along = 0;
#pragma omp simd reduction(+ : along)
    for (int64_t i = 0; i < cols; ++i) along += (weight ? gy[i] * weight[i] : gy[i]) * (x[i] * r);
    along /= static_cast<T>(cols);
#pragma omp simd
    for (int64_t i = 0; i < cols; ++i) {
      const T g = r * ((weight ? gy[i] * weight[i] : gy[i]) - x[i] * r * along);
      gx[i] = sum ? sum[i] + g : g;
    }
    gx += cols;
    if (sum) sum += cols;
  }
}

GRADUS_BUILD(RMSNormLoops, rms_norm<T>, rms_norm_grad<T>);

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
