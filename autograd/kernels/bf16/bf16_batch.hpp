// A batch of matrix products in bfloat16, each packed and made by one thread: gemm_batch() (gemm.hpp) with
// rounded operands. Pointers belong to the caller; the same bits for any number of threads; thread-safe as
// long as no two calls write the same output.
#pragma once

#include <cstdint>

#include "gradus/autograd/kernels/blas/gemm.hpp"

namespace gradus::kernels {

/// c[i] (m, n) = op(a + a_offset[i]) (m, k) @ op(b + b_offset[i]) (k, n) for each i of `batch`; c holds them
/// one behind the other, packed.
void gemm_batch_bf16(int64_t batch, const int64_t* a_offset, const int64_t* b_offset, Trans ta, Trans tb,
                     int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* b,
                     int64_t ldb, float* c);

}  // namespace gradus::kernels
