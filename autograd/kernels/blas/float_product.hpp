// Products of float32 or float64 matrices without BLAS, for AVX-512, where OpenBLAS is slower.
//
// b is packed into strips in the second-level cache, and tiles of c stay in registers (Goto and van de Geijn,
// "Anatomy of high-performance matrix multiplication", 2008). The order of each sum depends on k only, so c
// may be cut anywhere.
#pragma once

#include <cstdint>

#include "gradus/autograd/kernels/threads/parallel.hpp"

namespace gradus::kernels {

/// Rows and columns of a block of a symmetric result, see gram().
inline constexpr int64_t kGramBlock = 64;

/// c (m, n) = alpha * a (m, k) @ b (k, n) + start. Element (i, l) of a is a[i * a_row + l * a_k], element (l,
/// j) of b is b[l * b_k + j * b_column]; one of the two strides of each is 1. Rows of c and start are c_row
/// and start_row apart; start is c, a single row (start_row 0), or nullptr for 0.
template <class T>
struct FloatProduct {
  int64_t m, n, k;
  T alpha;
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

/// Computes it on the calling thread. k >= 1.
template <class T>
void multiply_floats(const FloatProduct<T>& product);

template <class T>
struct ProductLoops {
  int64_t most_rows;                // of a call of `multiply`; at most kAttentionMargin
  int64_t tile_rows, tile_columns;  // of c; the fastest if b is packed and in the second-level cache
  bool beat_blas;                   // in large products

  /// c (rows, n) = start + a (rows, k) @ b (k, n). Element (i, l) of a is a[i * a_row + l * a_k]; rows of b,
  /// c and start are b_row, c_row and start_row apart; start, nullptr for 0, may be c or a single row
  /// (start_row 0). Adds product after product, then start. 1 <= rows <= most_rows.
  void (*multiply)(int64_t rows, int64_t n, int64_t k, const T* a, int64_t a_row, int64_t a_k, const T* b,
                   int64_t b_row, const T* start, int64_t start_row, T* c, int64_t c_row);

  /// y (columns, rows) = x (rows, columns) transposed.
  void (*transpose)(int64_t rows, int64_t columns, const T* x, int64_t x_row, T* y, int64_t y_row);
};

}  // namespace gradus::kernels
