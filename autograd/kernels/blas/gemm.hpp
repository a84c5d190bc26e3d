// Products of matrices of one dtype, by the code that choose_product() selects.
//
// Threads share a product by tiles of c. The tiles of a product by BLAS, one single-threaded call each,
// depend on (m, n, k) only. All matrices are row-major; leading dimensions and offsets count elements. Throws
// Error if a size does not fit BLAS's 32-bit integers.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gradus/autograd/kernels/threads/parallel.hpp"

namespace gradus::kernels {

enum class Trans : bool { no, yes };

/// c (m, n) = op(a) (m, k) @ op(b) (k, n); op transposes for Trans::yes. With `add` it is added to c.
template <class T>
void gemm(Trans ta, Trans tb, int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* b,
          int64_t ldb, T* c, int64_t ldc, bool add = false);

/// gemm on the calling thread, in one piece.
template <class T>
void gemm_serial(Trans ta, Trans tb, int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* b,
                 int64_t ldb, T* c, int64_t ldc, bool add = false);

/// gemm for each of `batch` products, on a + a_offset[i], b + b_offset[i] and c + c_offset[i].
template <class T>
void gemm_batch(int64_t batch, const int64_t* a_offset, const int64_t* b_offset, const int64_t* c_offset,
                Trans ta, Trans tb, int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* b,
                int64_t ldb, T* c, int64_t ldc);

/// c (m, m) = op(a) (m, k) @ op(a)^T. Computes the blocks on and below the diagonal, and copies those above
/// it; c is contiguous.
template <class T>
void gram(Trans trans, int64_t m, int64_t k, const T* a, int64_t lda, T* c);
/// Copies the blocks of 64 rows and columns below the diagonal of c (m, m), transposed, to those above it.
template <class T>
void mirror(int64_t m, T* c);

/// y (m, n) = x (m, k) @ w (n, k)^T + bias (n); rows of x are ldx apart, y and w packed; bias or nullptr.
template <class T>
void linear(int64_t m, int64_t n, int64_t k, T* y, const T* x, int64_t ldx, const T* w, const T* bias);

// Multiply-adds that take one thread less time than sharing them.
inline constexpr int64_t kSmallProduct = int64_t{1} << 20;
inline constexpr int64_t kMaxTiles = 16;

/// How a product is cut along the longer side of c: into `count` tiles of `length`, a multiple of `multiple`.
struct Tiling {
  bool by_rows;
  int64_t extent, length, count;

  /// At most `most` tiles. Each tile packs all of one operand again: from length 256 on that costs about 2 %
  /// of the product.
  Tiling(int64_t m, int64_t n, int64_t k, int64_t most, int64_t multiple)
      : by_rows(m >= n), extent(std::max(m, n)) {
    constexpr int64_t kLength = 256;
    // An even number, so that two threads end together.
    const int64_t even = std::clamp<int64_t>(extent / (2 * kLength) * 2, 2, kMaxTiles);
    const int64_t wanted = m * n * k < kSmallProduct ? 1 : std::min(most, even);
    length = ceil_div(ceil_div(extent, wanted), multiple) * multiple;
    count = ceil_div(extent, length);
  }
};

}  // namespace gradus::kernels
