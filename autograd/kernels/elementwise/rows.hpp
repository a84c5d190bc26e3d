// Operations on the rows of contiguous matrices: softmax, cross-entropy, norms; and the linear recurrence.
//
// Loops work on one row. For softmax and cross-entropy an output may be an input of the same shape, and the
// bits of a row depend on that row only; a NaN makes its row NaN. Gradients of weight and bias are summed
// over fixed chunks of rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gradus/autograd/kernels/elementwise/reduce.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"

namespace gradus::kernels {

template <class T>
struct SoftmaxLoops {
  /// y = exp(x - max) / sum exp(x - max); NaN for a row of only -inf or with a +inf.
  void (*softmax)(int64_t cols, T* y, const T* x);
  /// y = x - logsumexp(x)
  void (*log_softmax)(int64_t cols, T* y, const T* x);
  /// The log of the sum of exp; -inf for a row of -inf, +inf for one with a +inf.
  T (*logsumexp)(int64_t cols, const T* x);
  /// gx = y * (gy - sum(gy * y)), y the output of softmax.
  void (*softmax_grad)(int64_t cols, T* gx, const T* gy, const T* y);
  /// gx = gy - exp(y) * sum(gy), y the output of log_softmax.
  void (*log_softmax_grad)(int64_t cols, T* gx, const T* gy, const T* y);
};

/// x: (rows, cols) -> (rows).
template <class T>
void logsumexp(int64_t rows, int64_t cols, T* out, const T* x) {
  for_each_row(rows, cols,
               [&](int64_t r) { out[r] = isa_loops<SoftmaxLoops<T>>().logsumexp(cols, x + r * cols); });
}

template <class T>
struct CrossEntropyLoops {
  /// row_sum: the shift of x before exp, and the sum of exp.
  void (*loss)(int64_t classes, T* loss, T* row_sum, const T* x, int64_t target);
  /// gx = scale * (softmax(x) - onehot(target)).
  void (*grad)(int64_t classes, T* gx, T scale, const T* x, const T* row_sum, int64_t target);
};

/// losses = logsumexp(x) - x[target] by row, 0 where the target is ignore_index; other targets must be in [0,
/// classes). x: (rows, classes) -> losses (rows), and for the gradient row_sums (rows, 2): the row's maximum
/// and the sum of exp(x - maximum), separate, because their logsumexp would lose digits of large logits.
template <class T>
void cross_entropy(int64_t rows, int64_t classes, T* losses, T* row_sums, const T* x, const int64_t* target,
                   int64_t ignore_index) {
  for_each_row(rows, classes, [&](int64_t r) {
    const T* row = x + r * classes;
    const bool ignored = target[r] == ignore_index;
    isa_loops<CrossEntropyLoops<T>>().loss(classes, losses + r, row_sums + 2 * r, row,
                                           ignored ? 0 : target[r]);
    if (ignored) losses[r] = T{0};
  });
}

/// gx = grow * (softmax(x) - onehot(target)) by row, 0 for an ignored row; grow (rows): losses' gradients.
template <class T>
void cross_entropy_grad(int64_t rows, int64_t classes, T* gx, const T* grow, const T* x, const T* row_sums,
                        const int64_t* target, int64_t ignore_index) {
  for_each_row(rows, classes, [&](int64_t r) {
    T* out = gx + r * classes;
    if (target[r] == ignore_index) {
      std::fill_n(out, classes, T{0});
      return;
    }
    isa_loops<CrossEntropyLoops<T>>().grad(classes, out, grow[r], x + r * classes, row_sums + 2 * r,
                                           target[r]);
  });
}

/// out (cols) = the sum of `rows` rows of x, row_stride apart. Overwrites x: sums of kGradRows rows are
/// summed, and so on, so that the error grows with the logarithm of rows.
template <class T>
void add_rows(int64_t rows, int64_t cols, T* out, T* x, int64_t row_stride) {
  const auto add = isa_loops<ReduceLoops<T>>().fold_rows[static_cast<int>(Reduce::sum)];
  for (; rows > kGradRows; rows = ceil_div(rows, kGradRows), row_stride *= kGradRows)
    for (int64_t r = 0; r < rows; r += kGradRows)
      add(std::min(kGradRows, rows - r) - 1, cols, x + r * row_stride, x + (r + 1) * row_stride, row_stride);
  std::fill_n(out, cols, T{0});
  add(rows, cols, out, x, row_stride);
}

/// Loops of layer normalisation (Ba, Kiros and Hinton, 2016).
template <class T>
struct LayerNormLoops {
  /// mean: two numbers whose sum is the mean.
  void (*forward)(int64_t cols, T eps, T* y, T* mean, T* rstd, const T* x, const T* weight, const T* bias);
  void (*gx)(int64_t cols, T* gx, const T* gy, const T* x, const T* mean, T rstd, const T* weight);
  /// gw += gy * xhat, gb += gy; either may be nullptr.
  void (*gw)(int64_t cols, T* gw, T* gb, const T* gy, const T* x, const T* mean, T rstd);
};

/// y = (x - mean) * rstd * weight + bias by row, rstd = 1 / sqrt(variance + eps) with the biased variance
/// from a second pass, so that a large mean loses no digits. Kept for the gradient: mean (rows, 2), in two
/// parts that are rounded separately, and rstd (rows). weight and bias (cols) or nullptr. x, y: (rows, cols).
template <class T>
void layer_norm(int64_t rows, int64_t cols, T eps, T* y, T* mean, T* rstd, const T* x, const T* weight,
                const T* bias) {
  for_each_row(rows, cols, [&](int64_t r) {
    isa_loops<LayerNormLoops<T>>().forward(cols, eps, y + r * cols, mean + 2 * r, rstd + r, x + r * cols,
                                           weight, bias);
  });
}

/// gx (rows, cols), gw and gb (cols) of layer_norm; any of the three and weight may be nullptr.
template <class T>
void layer_norm_grad(int64_t rows, int64_t cols, T* gx, T* gw, T* gb, const T* gy, const T* x, const T* mean,
                     const T* rstd, const T* weight) {
  const LayerNormLoops<T>& loops = isa_loops<LayerNormLoops<T>>();
  const int64_t chunks = ceil_div(rows, kGradRows);
  std::vector<T> sums(static_cast<size_t>(gw || gb ? 2 * chunks * cols : 0));
  parallel_for(rows, kGradRows, [&](int64_t begin, int64_t end) {
    T* const chunk_sums = sums.data() + 2 * (begin / kGradRows) * cols;
    T *const chunk_gw = gw ? chunk_sums : nullptr, *const chunk_gb = gb ? chunk_sums + cols : nullptr;
    for (int64_t r = begin; r < end; ++r) {
      const T *g = gy + r * cols, *row = x + r * cols;
      if (gx) loops.gx(cols, gx + r * cols, g, row, mean + 2 * r, rstd[r], weight);
      if (gw || gb) loops.gw(cols, chunk_gw, chunk_gb, g, row, mean + 2 * r, rstd[r]);
    }
  });
  if (gw) add_rows(chunks, cols, gw, sums.data(), 2 * cols);
  if (gb) add_rows(chunks, cols, gb, sums.data() + cols, 2 * cols);
}

/// Loops of root mean square normalisation (Zhang and Sennrich, 2019) over consecutive rows.
template <class T>
struct RMSNormLoops {
  void (*forward)(int64_t rows, int64_t cols, T eps, T* y, T* rstd, const T* x, const T* weight);
  /// Adds to gw.
  void (*grad)(int64_t rows, int64_t cols, T* gx, T* gw, const T* gy, const T* x, const T* rstd,
               const T* weight, const T* sum);
};

/// y = x * rstd * weight by row, rstd = 1 / sqrt(mean(x^2) + eps), (rows), kept for the gradient. weight
/// (cols) may be nullptr. x, y: (rows, cols).
template <class T>
void rms_norm(int64_t rows, int64_t cols, T eps, T* y, T* rstd, const T* x, const T* weight) {
  parallel_for(rows, grain_of(kRowsChunk, cols), [&](int64_t begin, int64_t end) {
    isa_loops<RMSNormLoops<T>>().forward(end - begin, cols, eps, y + begin * cols, rstd + begin,
                                         x + begin * cols, weight);
  });
}

/// gx (rows, cols), added to sum, and gw (cols) of rms_norm; each and weight or nullptr; gx may be sum.
template <class T>
void rms_norm_grad(int64_t rows, int64_t cols, T* gx, T* gw, const T* gy, const T* x, const T* rstd,
                   const T* weight, const T* sum) {
  const int64_t chunks = ceil_div(rows, kGradRows);
  std::vector<T> sums(static_cast<size_t>(gw ? chunks * cols : 0));
  for_each_row(chunks, kGradRows * cols, [&](int64_t chunk) {
    const int64_t first = chunk * kGradRows, at = first * cols;
    isa_loops<RMSNormLoops<T>>().grad(std::min(kGradRows, rows - first), cols, gx ? gx + at : nullptr,
                                      gw ? sums.data() + chunk * cols : nullptr, gy + at, x + at,
                                      rstd + first, weight, sum ? sum + at : nullptr);
  });
  if (gw) add_rows(chunks, cols, gw, sums.data(), cols);
}

/// The linear recurrence h_t = a_t * h_(t-1) + b_t along the middle of (outer, n, inner), contiguous. The
/// bits of a column depend on that column only. Loops over `cols` neighbouring columns: pointers are those of
/// t = 0; the distance from t to t + 1 is `stride` elements, which may be negative.
template <class T>
struct RecurrenceLoops {
  void (*forward)(int64_t n, int64_t stride, int64_t cols, T* h, const T* a, const T* b);
  void (*grad)(int64_t n, int64_t stride, int64_t cols, T* ga, T* gb, const T* gh, const T* a, const T* h);
};

inline constexpr int64_t kRecurrenceCols = 512;  // columns, at most, that a thread takes at a time

/// Calls f(offset, cols, stride) for each chunk of columns; offset: of t = 0, the last row if `reverse`.
template <class F>
void for_each_column_chunk(int64_t outer, int64_t n, int64_t inner, bool reverse, F&& f) {
  const int64_t chunks = ceil_div(inner, kRecurrenceCols);
  for_each_row(n == 0 ? 0 : outer * chunks, n * std::min(inner, kRecurrenceCols), [&](int64_t i) {
    const int64_t row = i / chunks * n + (reverse ? n - 1 : 0), col = i % chunks * kRecurrenceCols;
    f(row * inner + col, std::min(kRecurrenceCols, inner - col), reverse ? -inner : inner);
  });
}

/// h from a and b; the first h is b for any first a.
template <class T>
void linear_recurrence(int64_t outer, int64_t n, int64_t inner, T* h, const T* a, const T* b, bool reverse) {
  for_each_column_chunk(outer, n, inner, reverse, [&](int64_t offset, int64_t cols, int64_t stride) {
    isa_loops<RecurrenceLoops<T>>().forward(n, stride, cols, h + offset, a + offset, b + offset);
  });
}

/// ga, which may be nullptr, and gb from gh, a and h.
template <class T>
void linear_recurrence_grad(int64_t outer, int64_t n, int64_t inner, T* ga, T* gb, const T* gh, const T* a,
                            const T* h, bool reverse) {
  for_each_column_chunk(outer, n, inner, reverse, [&](int64_t offset, int64_t cols, int64_t stride) {
    isa_loops<RecurrenceLoops<T>>().grad(n, stride, cols, ga ? ga + offset : nullptr, gb + offset,
                                         gh + offset, a + offset, h + offset);
  });
}

}  // namespace gradus::kernels
