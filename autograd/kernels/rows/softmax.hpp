// Softmax of the rows of a contiguous matrix, its relatives, cross-entropy, and their gradients.
//
// An output may be an input of the same shape. The bits of a row depend on that row only. NaN anywhere in a
// row makes the row NaN.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"

namespace gradus::kernels {

/// Loops over one row.
template <class T>
struct SoftmaxLoops {
  void (*softmax)(int64_t cols, T* y, const T* x);
  void (*log_softmax)(int64_t cols, T* y, const T* x);
  T (*logsumexp)(int64_t cols, const T* x);
  void (*softmax_grad)(int64_t cols, T* gx, const T* gy, const T* y);
  void (*log_softmax_grad)(int64_t cols, T* gx, const T* gy, const T* y);
};

/// y = exp(x - max) / sum exp(x - max) by row; a row of only -inf, or with a +inf, is NaN. x: (rows, cols) ->
/// (rows, cols).
template <class T>
void softmax(int64_t rows, int64_t cols, T* y, const T* x) {
  for_each_row(rows, cols,
               [&](int64_t r) { isa_loops<SoftmaxLoops<T>>().softmax(cols, y + r * cols, x + r * cols); });
}

/// y = x - logsumexp(x) by row. x: (rows, cols) -> (rows, cols).
template <class T>
void log_softmax(int64_t rows, int64_t cols, T* y, const T* x) {
  for_each_row(rows, cols, [&](int64_t r) {
    isa_loops<SoftmaxLoops<T>>().log_softmax(cols, y + r * cols, x + r * cols);
  });
}

/// log of the sum of exp by row; -inf for a row of only -inf, +inf for one with a +inf. x: (rows, cols) ->
/// (rows).
template <class T>
void logsumexp(int64_t rows, int64_t cols, T* out, const T* x) {
  for_each_row(rows, cols,
               [&](int64_t r) { out[r] = isa_loops<SoftmaxLoops<T>>().logsumexp(cols, x + r * cols); });
}

/// gx = y * (gy - sum(gy * y)), y the output of softmax. (rows, cols) each.
template <class T>
void softmax_grad(int64_t rows, int64_t cols, T* gx, const T* gy, const T* y) {
  for_each_row(rows, cols, [&](int64_t r) {
    const int64_t at = r * cols;
    isa_loops<SoftmaxLoops<T>>().softmax_grad(cols, gx + at, gy + at, y + at);
  });
}

/// gx = gy - exp(y) * sum(gy), y the output of log_softmax. (rows, cols) each.
template <class T>
void log_softmax_grad(int64_t rows, int64_t cols, T* gx, const T* gy, const T* y) {
  for_each_row(rows, cols, [&](int64_t r) {
    const int64_t at = r * cols;
    isa_loops<SoftmaxLoops<T>>().log_softmax_grad(cols, gx + at, gy + at, y + at);
  });
}

/// Loops over one row.
template <class T>
struct CrossEntropyLoops {
  /// row_sum: the shift of x before exp, and the sum of exp, for the gradient.
  void (*loss)(int64_t classes, T* loss, T* row_sum, const T* x, int64_t target);
  /// gx = scale * (softmax(x) - onehot(target)).
  void (*grad)(int64_t classes, T* gx, T scale, const T* x, const T* row_sum, int64_t target);
};

/// Cross-entropy of logits and classes keeps no (rows, classes) matrix of probabilities. Every target must be
/// ignore_index or in [0, classes).
///
/// losses = logsumexp(x) - x[target] by row; the loss of a row whose target is ignore_index is 0. x: (rows,
/// classes) -> losses (rows), and for the gradient row_sums (rows, 2): the row's maximum and the sum of
/// exp(x - maximum). Apart they keep the digits that their logsumexp would lose where logits are large.
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

/// gx = grow * (softmax(x) - onehot(target)) by row, grow (rows) the gradients of the losses; 0 for an
/// ignored row.
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

}  // namespace gradus::kernels
