// Softmax of the rows of a contiguous matrix, its relatives and their gradients.
//
// Pointers belong to the caller; an output may be one of the inputs of its own shape. Thread-safe; the bits
// of a row depend on that row only. T: float, double. NaN anywhere in a row makes the row NaN.
#pragma once

#include <cstdint>

#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/threads/rows.hpp"

namespace gradus::kernels {

/// Of one row.
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

}  // namespace gradus::kernels
