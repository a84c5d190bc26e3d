// Softmax of the rows of a contiguous matrix, its relatives and their gradients.
//
// Pointers belong to the caller; an output may be one of the inputs of its own shape. Thread-safe; the bits
// of a row depend on that row only. T: float, double. NaN anywhere in a row makes the row NaN.
#pragma once

#include <cstdint>

namespace gradus::kernels {

/// y = exp(x - max) / sum exp(x - max) by row; a row of only -inf, or with a +inf, is NaN. x: (rows, cols) ->
/// (rows, cols).
template <class T>
void softmax(int64_t rows, int64_t cols, T* y, const T* x);

/// y = x - logsumexp(x) by row. x: (rows, cols) -> (rows, cols).
template <class T>
void log_softmax(int64_t rows, int64_t cols, T* y, const T* x);

/// log of the sum of exp by row; -inf for a row of only -inf, +inf for one with a +inf. x: (rows, cols) ->
/// (rows).
template <class T>
void logsumexp(int64_t rows, int64_t cols, T* out, const T* x);

/// gx = y * (gy - sum(gy * y)), y the output of softmax. (rows, cols) each.
template <class T>
void softmax_grad(int64_t rows, int64_t cols, T* gx, const T* gy, const T* y);

/// gx = gy - exp(y) * sum(gy), y the output of log_softmax. (rows, cols) each.
template <class T>
void log_softmax_grad(int64_t rows, int64_t cols, T* gx, const T* gy, const T* y);

}  // namespace gradus::kernels
