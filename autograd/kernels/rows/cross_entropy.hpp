// Cross-entropy of logits and target classes, fused with its softmax: no (rows, classes) matrix of
// probabilities is kept.
//
// Pointers belong to the caller, everything is contiguous; gx may be x. Thread-safe; the bits of a row depend
// on that row only. T: float, double. The caller has checked that every target is ignore_index or in [0,
// classes).
#pragma once

#include <algorithm>
#include <cstdint>

#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/threads/rows.hpp"

namespace gradus::kernels {

/// Of one row.
template <class T>
struct CrossEntropyLoops {
  /// row_sum: what is taken off x before exp, and the sum of that, for the gradient.
  void (*loss)(int64_t classes, T* loss, T* row_sum, const T* x, int64_t target);
  /// gx = scale * (softmax(x) - onehot(target)).
  void (*grad)(int64_t classes, T* gx, T scale, const T* x, const T* row_sum, int64_t target);
};

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
