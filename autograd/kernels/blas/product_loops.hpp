// Small products whose sums stay in registers: what larger ones are made of, attention's and those of
// float_product.hpp.
#pragma once

#include <cstdint>

namespace gradus::kernels {

template <class T>
struct ProductLoops {
  int64_t most_rows;                  // that `multiply` takes at once; at most attention's kAttentionMargin
  int64_t block_rows, block_columns;  // of c, where b is packed and in the second cache: the fastest
  bool beat_blas;                     // in large products (float_product.hpp)

  /// c (rows, n) = start + a (rows, k) @ b (k, n). Element (i, l) of a is a[i * a_row + l * a_k]; rows of b,
  /// c and start are b_row, c_row and start_row apart; start, nullptr for 0, may be c, or a single row
  /// (start_row 0). Products are added one after the other, and then start. 1 <= rows <= most_rows.
  void (*multiply)(int64_t rows, int64_t n, int64_t k, const T* a, int64_t a_row, int64_t a_k, const T* b,
                   int64_t b_row, const T* start, int64_t start_row, T* c, int64_t c_row);

  /// y (columns, rows) = x (rows, columns) transposed.
  void (*transpose)(int64_t rows, int64_t columns, const T* x, int64_t x_row, T* y, int64_t y_row);
};

}  // namespace gradus::kernels
