// Products of matrices of one dtype. These files and their neighbours are the only ones that call BLAS.
//
// choose_product() names the code. Products are cut into tiles inside a parallel_for: for BLAS, by (m, n, k)
// alone, one single-threaded call each; multiply_floats() may be cut anywhere. Either way the result has the
// same bits for any number of threads. All matrices are row-major and owned by the caller; leading dimensions
// and offsets count elements; T is float or double. Thread-safe as long as no two calls write the same
// output. Throws Error when a size does not fit BLAS's 32-bit integers.
#pragma once

#include <cstdint>

namespace gradus::kernels {

enum class Trans : bool { no, yes };

/// c (m, n) = alpha * op(a) (m, k) @ op(b) (k, n) + beta * c, where op transposes when asked to. With beta =
/// 0 the old values of c are not read.
template <class T>
void gemm(Trans ta, Trans tb, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda, const T* b,
          int64_t ldb, T beta, T* c, int64_t ldc);

/// gemm uncut, on the calling thread: for products that a kernel makes inside its own blocks.
template <class T>
void gemm_serial(Trans ta, Trans tb, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda,
                 const T* b, int64_t ldb, T beta, T* c, int64_t ldc);

/// gemm for each of `batch` independent products, on a + a_offset[i], b + b_offset[i] and c + c_offset[i];
/// the outputs must not overlap.
template <class T>
void gemm_batch(int64_t batch, const int64_t* a_offset, const int64_t* b_offset, const int64_t* c_offset,
                Trans ta, Trans tb, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda,
                const T* b, int64_t ldb, T beta, T* c, int64_t ldc);

/// y (m, n) = x (m, k) @ w (n, k)^T + bias (n); y and w are contiguous, rows of x are ldx apart, bias may be
/// nullptr.
template <class T>
void linear(int64_t m, int64_t n, int64_t k, T* y, const T* x, int64_t ldx, const T* w, const T* bias);

}  // namespace gradus::kernels
