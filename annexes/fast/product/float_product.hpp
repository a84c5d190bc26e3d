// Products of float32 or float64 matrices without BLAS, for AVX-512, where OpenBLAS is slower.
//
// b is packed into strips in the second-level cache, and tiles of c stay in registers (Goto and van de Geijn,
// "Anatomy of high-performance matrix multiplication", 2008). The order of each sum depends on k only, so c
// may be cut anywhere.
#pragma once

#include <cstdint>

#include "gradus/autograd/kernels/blas/float_product.hpp"

namespace gradus::kernels {

/// Computes it on the calling thread. k >= 1.
template <class T>
void multiply_floats(const FloatProduct<T>& product);

/// mirror() of gemm.hpp.
template <class T>
void mirror_blocks(int64_t m, T* c);

/// Whether multiply_floats() is faster than BLAS in large products, at the level in use.
bool beats_blas();

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
