// Cross-entropy of logits and target classes, fused with its softmax: no (rows, classes) matrix of
// probabilities is kept.
//
// Pointers belong to the caller, everything is contiguous; gx may be x. Thread-safe; the bits of a row depend
// on that row only. T: float, double. The caller has checked that every target is ignore_index or in [0,
// classes).
#pragma once

#include <cstdint>

namespace gradus::kernels {

/// losses = logsumexp(x) - x[target] by row; the loss of a row whose target is ignore_index is 0. x: (rows,
/// classes) -> losses (rows), and for the gradient row_sums (rows, 2): the row's maximum and the sum of exp(x
/// - maximum). Apart they keep the digits that their logsumexp would lose where logits are large.
template <class T>
void cross_entropy(int64_t rows, int64_t classes, T* losses, T* row_sums, const T* x, const int64_t* target,
                   int64_t ignore_index);

/// gx = grow * (softmax(x) - onehot(target)) by row, grow (rows) the gradients of the losses; 0 for an
/// ignored row.
template <class T>
void cross_entropy_grad(int64_t rows, int64_t classes, T* gx, const T* grow, const T* x, const T* row_sums,
                        const int64_t* target, int64_t ignore_index);

}  // namespace gradus::kernels
