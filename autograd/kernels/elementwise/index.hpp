// Selecting and adding elements by index along the middle of (outer, n, inner), and triangles of matrices.
//
// Everything is contiguous, and every index must be in range. Sums at a repeated index are added in order. T:
// all four dtypes; for the sums float, double, int64_t.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gradus/autograd/kernels/threads/parallel.hpp"

namespace gradus::kernels {

/// out = x[:, index, :]. x: (outer, n_in, inner), index: (count) -> (outer, count, inner).
template <class T>
void index_select(int64_t outer, int64_t n_in, int64_t inner, int64_t count, T* out, const T* x,
                  const int64_t* index) {
  for_each_row(outer * count, inner, [&](int64_t r) {
    std::copy_n(x + (r / count * n_in + index[r % count]) * inner, inner, out + r * inner);
  });
}

/// out[:, index[k], :] += src[:, k, :]. index (count), src (outer, count, inner), out (outer, n_out, inner).
template <class T>
void index_add(int64_t outer, int64_t n_out, int64_t inner, int64_t count, T* out, const int64_t* index,
               const T* src) {
  constexpr int64_t kColumns = 64;
  const int64_t strips = ceil_div(inner, kColumns);
  for_each_row(outer * strips, count * kColumns, [&](int64_t job) {
    const int64_t o = job / strips, begin = job % strips * kColumns, end = std::min(inner, begin + kColumns);
    for (int64_t k = 0; k < count; ++k) {
      T* to = out + (o * n_out + index[k]) * inner;
      const T* from = src + (o * count + k) * inner;
      for (int64_t i = begin; i < end; ++i) to[i] += from[i];
    }
  });
}

/// out[o, k, i] = x[o, index[o, k, i], i]. x: (outer, n_in, inner), index, out: (outer, n_out, inner).
template <class T>
void gather(int64_t outer, int64_t n_in, int64_t inner, int64_t n_out, T* out, const T* x,
            const int64_t* index) {
  for_each_row(outer * n_out, inner, [&](int64_t r) {
    for (int64_t i = 0; i < inner; ++i)
      out[r * inner + i] = x[(r / n_out * n_in + index[r * inner + i]) * inner + i];
  });
}

/// out[o, index[o, k, i], i] += src[o, k, i]. index, src: (outer, n_src, inner), out: (outer, n_out, inner).
template <class T>
void scatter_add(int64_t outer, int64_t n_out, int64_t inner, int64_t n_src, T* out, const int64_t* index,
                 const T* src) {
  for_each_row(outer, n_src * inner, [&](int64_t o) {
    for (int64_t at = o * n_src * inner; at < (o + 1) * n_src * inner; ++at)
      out[(o * n_out + index[at]) * inner + at % inner] += src[at];
  });
}

/// The part of each matrix on and below (`lower`) or on and above a diagonal, zero elsewhere; diagonal 0 is
/// the main one, positive ones lie above it. out may be x. x, out: (batch, rows, cols).
template <class T>
void triangle(bool lower, int64_t batch, int64_t rows, int64_t cols, T* out, const T* x, int64_t diagonal) {
  for_each_row(batch * rows, cols, [&](int64_t line) {
    const int64_t first = line * cols, on_diagonal = line % rows + diagonal;
    for (int64_t c = 0; c < cols; ++c) {
      const bool keep = lower ? c <= on_diagonal : c >= on_diagonal;
      out[first + c] = keep ? x[first + c] : T{0};
    }
  });
}

}  // namespace gradus::kernels
