// What the inner loops of attention do; levels/attention.hpp says how, once for each level of x86-64.
#pragma once

#include <cstdint>

namespace gradus::kernels {

/// How far past the end of a row of scores the loops write: to whole vectors, and the zeros that a tile of a
/// product reads beside a causal row.
inline constexpr int64_t kAttentionMargin = 16;

template <class T>
struct AttentionLoops {
  int64_t tile_rows;  // the most rows that `multiply` takes at once, at most kAttentionMargin

  /// c (rows, n) = a (rows, k) @ b (k, n), added to the old c if `add`. Element (i, l) of a is a[i * a_row +
  /// l * a_k]; rows of b and c are b_row and c_row apart. 1 <= rows <= tile_rows.
  void (*multiply)(int64_t rows, int64_t n, int64_t k, const T* a, int64_t a_row, int64_t a_k, const T* b,
                   int64_t b_row, bool add, T* c, int64_t c_row);

  /// y (columns, rows) = x (rows, columns) transposed.
  void (*transpose)(int64_t rows, int64_t columns, const T* x, int64_t x_row, T* y, int64_t y_row);

  /// s = exp(scale * s - max), where max first becomes the larger of itself and the row's largest scale * s;
  /// returns the sum of the new s. s: (n), followed by kAttentionMargin elements that become 0.
  T (*exponentials)(int64_t n, T* s, T scale, T* max);

  /// From the scores s and the gradient g of the weights that met v: s becomes those weights, p * factor with
  /// p = exp(scale * s - max) * share, and g the gradient of the scores, scale * p * (g * factor - delta).
  /// factor, what dropout multiplies by, may be nullptr for all ones. s, g, factor: (n), followed by the
  /// margin; that of s and g becomes 0.
  void (*gradients)(int64_t n, T* s, T* g, T scale, T max, T share, T delta, const T* factor);
};

}  // namespace gradus::kernels
