// Moving elements by index along the middle of (outer, n, inner), and triangles of matrices.
//
// Pointers belong to the caller, everything is contiguous, outputs must not overlap inputs. Thread-safe; sums
// into repeated indices are done in their order, whatever the number of threads. The caller has checked that
// every index is in range. T: all four dtypes, except the sums: float, double, int64_t.
#pragma once

#include <cstdint>

namespace gradus::kernels {

/// out = x[:, index, :]. x: (outer, n_in, inner), index: (count) -> (outer, count, inner).
template <class T>
void index_select(int64_t outer, int64_t n_in, int64_t inner, int64_t count, T* out, const T* x,
                  const int64_t* index);

/// out[:, index[k], :] += src[:, k, :], in place. index: (count), src: (outer, count, inner), out: (outer,
/// n_out, inner).
template <class T>
void index_add(int64_t outer, int64_t n_out, int64_t inner, int64_t count, T* out, const int64_t* index,
               const T* src);

/// out[o, k, i] = x[o, index[o, k, i], i]. x: (outer, n_in, inner), index: (outer, n_out, inner) -> (outer,
/// n_out, inner).
template <class T>
void gather(int64_t outer, int64_t n_in, int64_t inner, int64_t n_out, T* out, const T* x,
            const int64_t* index);

/// out[o, index[o, k, i], i] += src[o, k, i], in place. index, src: (outer, n_src, inner), out: (outer,
/// n_out, inner).
template <class T>
void scatter_add(int64_t outer, int64_t n_out, int64_t inner, int64_t n_src, T* out, const int64_t* index,
                 const T* src);

/// The part of each matrix on and below (`lower`) or on and above its diagonal-th diagonal, zero elsewhere;
/// the main one is 0, those above it positive. May be in place. x: (batch, rows, cols) -> (batch, rows,
/// cols).
template <class T>
void triangle(bool lower, int64_t batch, int64_t rows, int64_t cols, T* out, const T* x, int64_t diagonal);

}  // namespace gradus::kernels
