// Loops over one row: sums and other reductions, softmax, cross-entropy, norms.
#include <cmath>
#include <limits>
#include <type_traits>
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
  const T along = sum_of<T>(cols, [=](int64_t i) { return gy[i] * y[i]; });
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

// Sums of squares that overflow or vanish are computed again in a type with a larger exponent.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;

template <class T>
bool is_ordinary(T square) {
  return square > std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon() &&
         square <= std::numeric_limits<T>::max();
}

// 1 / sqrt(mean((x - mean)^2) + eps), and the mean in two parts; mean nullptr: of x itself.
template <class T>
[[gnu::cold, gnu::noinline]] T wide_rstd(int64_t cols, T eps, T* mean, const T* x) {
  const auto count = static_cast<Wide<T>>(cols);
  Wide<T> near = 0, squares = 0;
  for (int64_t i = 0; mean && i < cols; ++i) near += x[i] / count;
  for (int64_t i = 0; i < cols; ++i) squares += (x[i] - near) * (x[i] - near) / count;
  if (mean) {
    mean[0] = static_cast<T>(near);
    mean[1] = static_cast<T>(near - mean[0]);
  }
  return static_cast<T>(1 / std::sqrt(squares + eps));
}

// The mean is rounded. Subtracting the mean of x - mean as well makes a constant row exactly zero, and keeps
// the digits of rows far from zero. The two parts are kept for the gradients: mean[0] + mean[1].
template <class T>
void layer_norm(int64_t cols, T eps, T* y, T* mean, T* rstd, const T* x, const T* weight, const T* bias) {
  const auto count = static_cast<T>(cols);
  mean[0] = sum(cols, x) / count;
  const TwoSums<T> sums = sums_of<T>(cols, [x, near = mean[0]](int64_t i, T& rest, T& squares) {
    const T d = x[i] - near;
    rest += d;
    squares += d * d;
  });
  mean[1] = sums[0] / count;
  const T variance = sums[1] / count - mean[1] * mean[1];
  const T square = (variance < T{0} ? T{0} : variance) + eps;  // fmax would drop NaN
  *rstd = is_ordinary(square) ? T{1} / std::sqrt(square) : wide_rstd(cols, eps, mean, x);
  const T near = mean[0], rest = mean[1], r = *rstd;
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
  const TwoSums<T> sums = sums_of<T>(cols, [=](int64_t i, T& sum_g, T& sum_gx) {
    const T g = weight ? gy[i] * weight[i] : gy[i];
    gx[i] = g;
    sum_g += g;
    sum_gx += g * ((x[i] - near - rest) * rstd);
  });
  const T mean_g = sums[0] / static_cast<T>(cols), mean_gx = sums[1] / static_cast<T>(cols);
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
    const T square = sum_of<T>(cols, [x](int64_t i) { return x[i] * x[i]; }) / static_cast<T>(cols) + eps;
    const T r =
        is_ordinary(square) ? T{1} / std::sqrt(square) : wide_rstd(cols, eps, static_cast<T*>(nullptr), x);
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
    const T total =
        sum_of<T>(cols, [=](int64_t i) { return (weight ? gy[i] * weight[i] : gy[i]) * (x[i] * r); });
    const T along = total / static_cast<T>(cols);
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

}  // namespace gradus::kernels::GRADUS_ISA
