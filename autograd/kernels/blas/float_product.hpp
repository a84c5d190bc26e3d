// A product of float32 or float64 matrices that code without BLAS computes.
#pragma once

#include <cstdint>

#include "gradus/autograd/kernels/threads/parallel.hpp"

namespace gradus::kernels {

/// Rows and columns of a block of a symmetric result, see gram().
inline constexpr int64_t kGramBlock = 64;

/// c (m, n) = a (m, k) @ b (k, n) + start. Element (i, l) of a is a[i * a_row + l * a_k], element (l,
/// j) of b is b[l * b_k + j * b_column]; one of the two strides of each is 1. Rows of c and start are c_row
/// and start_row apart; start is c, a single row (start_row 0), or nullptr for 0.
template <class T>
struct FloatProduct {
  int64_t m, n, k;
  const T* a;
  int64_t a_row, a_k;
  const T* b;
  int64_t b_k, b_column;
  const T* start;
  int64_t start_row;
  T* c;
  int64_t c_row;
  int64_t diagonal = kWhole;  ///< of row i, only the columns up to the kGramBlock of i + diagonal are needed

  static constexpr int64_t kWhole = int64_t{1} << 40;
  /// Columns that are needed of the rows before `row`.
  int64_t needed(int64_t row) const { return ceil_div(row + diagonal, kGramBlock) * kGramBlock; }
};

}  // namespace gradus::kernels
