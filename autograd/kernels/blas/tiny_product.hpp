// Products too small for BLAS: a call costs more than the product, and its bits depend on the machine.
//
// The order of additions is part of the result here, so that lessons print the same digits everywhere, and
// those of PyTorch: a single product adds in three chains side by side (what MKL's plain kernel was seen to
// do), a batch of products one after the other (PyTorch's own loop, which it uses below the same size).
// Pointers belong to the caller. Thread-safe.
#pragma once

#include <cstdint>

namespace gradus::kernels {

constexpr int kSingleChains = 3, kBatchChains = 1;

constexpr bool is_tiny(int64_t m, int64_t n, int64_t k) {
  constexpr int64_t limit = 400;  // multiplications
  return m < limit && n < limit && k < limit && m * n * k < limit;
}

/// A matrix with any distances between rows and between columns.
template <class T>
struct Strided {
  const T* data;
  int64_t row, column;
  const T* at(int64_t i, int64_t j) const { return data + i * row + j * column; }
};

/// sum a[i] b[i] over i < k, element i in chain i % chains, 1 <= chains <= 3; no product is fused with its
/// addition.
template <class T>
T tiny_dot(int64_t k, const T* a, int64_t a_step, const T* b, int64_t b_step, int chains) {
  T sum[3] = {};
  for (int64_t i = 0; i < k; ++i) sum[i % chains] += a[i * a_step] * b[i * b_step];
  return sum[0] + sum[1] + sum[2];
}

}  // namespace gradus::kernels
