// Products of float32 or float64 matrices without BLAS: for AVX-512, with which OpenBLAS is slower.
//
// b is packed into strips that lie in the second cache; the rows of a meet each of them in registers (Goto
// and van de Geijn, "Anatomy of high-performance matrix multiplication", 2008). Each element of c is a sum in
// an order that depends on k alone, so c may be cut anywhere. Pointers belong to the caller; c overlaps
// neither a nor b. Thread-safe as long as no two calls write the same output.
#pragma once

#include <cstdint>

namespace gradus::kernels {

/// c (m, n) = alpha * a (m, k) @ b (k, n) + start. Element (i, l) of a is a[i * a_row + l * a_k], element
/// (l, j) of b is b[l * b_k + j * b_column]; of each, one of the two distances is 1. Rows of c and start are
/// c_row and start_row apart; start is c itself, or a single row (start_row 0), or nullptr for 0.
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
};

/// On the calling thread. k >= 1.
template <class T>
void multiply_floats(const FloatProduct<T>& product);

}  // namespace gradus::kernels
