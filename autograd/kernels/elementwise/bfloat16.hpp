// Weights kept as bfloat16, the upper half of a float32: half the memory that generating a token has to read.
#pragma once

#include <cstdint>

#include "gradus/autograd/kernels/isa/loop.hpp"

namespace gradus {

struct bfloat16 {
  uint16_t bits;
};

}  // namespace gradus

namespace gradus::kernels {

/// Rounds to the nearest, to even at half; infinities stay infinite and NaN stays NaN.
void to_bfloat16(int64_t n, bfloat16* out, const float* x);
/// Exact.
void from_bfloat16(int64_t n, float* out, const bfloat16* x);
/// The same for any strides.
void from_bfloat16(const Loop<2>& loop, float* out, const bfloat16* x);

}  // namespace gradus::kernels
