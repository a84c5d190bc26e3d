// Matrix products of packed bfloat16 operands with sums in float32, by the instruction set in use (isa.hpp).
//
// A product is cut into parts that depend on (m, n, k) only, and each element is a sum in one order: it has
// the same bits for any number of threads. They differ between instruction sets: `widened` adds one product
// of numbers after the other; avx512_bf16 and amx add in pairs and take subnormal numbers for 0.
#pragma once

#include <cstdint>

#include "gradus/autograd/kernels/bf16/bf16_kernel.hpp"
#include "gradus/autograd/kernels/bf16/bf16_pack.hpp"
#include "gradus/autograd/kernels/blas/gemm.hpp"

namespace gradus::kernels {

/// The start of the sums: 0 if neither is set.
struct ProductStart {
  bool from_c = false;          ///< the old values of c
  const float* bias = nullptr;  ///< (n), the same for each row
};

/// c (m, n) = start + left (m, k) @ right (k, n), rows of c ldc apart; without from_c the old values of c are
/// not read. Throws Error if the operands are not a left and a right one of one k, if both starts are given,
/// or if rows of c overlap.
void multiply_bf16(const PackedBf16& left, const PackedBf16& right, float* c, int64_t ldc,
                   const ProductStart& start = {});

/// The same by a given kernel.
void multiply_bf16_by(const Bf16Kernel& kernel, const PackedBf16& left, const PackedBf16& right, float* c,
                      int64_t ldc, const ProductStart& start = {});

/// gemm_batch() with rounded operands; one thread packs and makes each product.
/// c[i] (m, n) = op(a + a_offset[i]) (m, k) @ op(b + b_offset[i]) (k, n) for each i of `batch`; c holds
/// them one behind the other, packed.
void gemm_batch_bf16(int64_t batch, const int64_t* a_offset, const int64_t* b_offset, Trans ta, Trans tb,
                     int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* b,
                     int64_t ldb, float* c);

}  // namespace gradus::kernels
