// Products of a few rows with a matrix of weights, as generating a token makes them: the time they take is
// that of reading the weights once. w, y and bias are contiguous.
#pragma once

#include <cstdint>

#include "gradus/autograd/kernels/elementwise/bfloat16.hpp"

namespace gradus::kernels {

/// sums[r] = the dot product of x (n) and rows[r] (n), for four rows.
template <class T>
struct DotsLoops {
  void (*dots)(int64_t n, const T* x, const T* const* rows, T* sums);
  void (*of_bfloat16)(int64_t n, const T* x, const bfloat16* const* rows, T* sums);
};

/// y (m, n) = x (m, k) @ w (n, k)^T + bias (n), sums in T; rows of x are ldx apart, bias may be nullptr. The
/// bits of an element of y depend on its row of x, its row of w and its bias only. T: float, double; W: T, or
/// bfloat16, which BLAS does not know: then m may be any number.
template <class T, class W>
void linear_few_rows(int64_t m, int64_t n, int64_t k, T* y, const T* x, int64_t ldx, const W* w,
                     const T* bias);

}  // namespace gradus::kernels
