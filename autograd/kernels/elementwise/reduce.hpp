// Reductions over strided operands, places of extremes in rows, and running sums. T: float, double, int64_t.
#pragma once

#include <cstdint>

#include "gradus/autograd/kernels/elementwise/loop.hpp"

namespace gradus::kernels {

enum class Reduce { sum, max, min, count };

/// The loops, by operation.
template <class T>
struct ReduceLoops {
  T (*fold[static_cast<int>(Reduce::count)])(int64_t n, const T* x);
  /// out[c] = op(out[c], x[r][c]) for each row r in order.
  void (*fold_rows[static_cast<int>(Reduce::count)])(int64_t rows, int64_t cols, T* out, const T* x,
                                                     int64_t row_stride);
};

/// out[kept index] = op over the reduced indices. `kept` walks (out, x) over the kept dimensions, `reduced`
/// walks x over the reduced ones. An empty sum is 0, an empty max or min the smallest or largest value of T
/// (-inf, +inf). A NaN makes max and min NaN. The error of a sum grows with the logarithm of the count.
template <class T>
void reduce(Reduce op, const Loop<2>& kept, const Loop<1>& reduced, T* out, const T* x);

/// The index of the largest or smallest element of each row, by `extreme`, the first among equals; the first
/// NaN wins. x: (rows, cols) -> (rows), both contiguous, cols >= 1.
template <class T>
void place_of(Reduce extreme, int64_t rows, int64_t cols, int64_t* out, const T* x);

/// Running sum along the middle of (outer, n, inner), contiguous, from the end if `reverse`; out may be x.
template <class T>
void cumsum(int64_t outer, int64_t n, int64_t inner, T* out, const T* x, bool reverse);

}  // namespace gradus::kernels
