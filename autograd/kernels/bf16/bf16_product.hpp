// Matrix products of packed bfloat16 operands with sums in float32, by the unit in use (bf16_unit.hpp).
//
// A product is cut into parts that depend on (m, n, k) only, and each element is a sum in one order: it has
// the same bits for any number of threads. Those bits are the unit's: `widened` adds one product of numbers
// after the other; avx512_bf16 and amx add in pairs, and take what is subnormal for 0. Thread-safe as long as
// no two calls write the same output.
#pragma once

#include <cstdint>

#include "gradus/autograd/kernels/bf16/bf16_kernel.hpp"
#include "gradus/autograd/kernels/bf16/bf16_pack.hpp"

namespace gradus::kernels {

/// What the sums begin with: 0 if neither is set.
struct ProductStart {
  bool from_c = false;          ///< what stands in c
  const float* bias = nullptr;  ///< (n), the same for each row
};

/// c (m, n) = start + left (m, k) @ right (k, n), rows of c ldc apart; without from_c the old values of c are
/// not read. Throws Error if the operands are not a left and a right one of one k, if both starts are given,
/// or if rows of c overlap.
void multiply_bf16(const PackedBf16& left, const PackedBf16& right, float* c, int64_t ldc,
                   const ProductStart& start = {});

/// The same by that kernel, whatever the unit in use.
void multiply_bf16_by(const Bf16Kernel& kernel, const PackedBf16& left, const PackedBf16& right, float* c,
                      int64_t ldc, const ProductStart& start = {});

}  // namespace gradus::kernels
