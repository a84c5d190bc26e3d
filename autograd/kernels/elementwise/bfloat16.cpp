#include "gradus/autograd/kernels/elementwise/bfloat16.hpp"

#include <bit>
#include <cmath>

#include "gradus/autograd/kernels/elementwise/walk.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"

namespace gradus::kernels {
namespace {

uint16_t rounded(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  if (std::isnan(x)) return static_cast<uint16_t>((bits >> 16) | 0x40);  // quiet, and not rounded to infinity
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

float widened(bfloat16 x) { return std::bit_cast<float>(uint32_t{x.bits} << 16); }

}  // namespace

void to_bfloat16(int64_t n, bfloat16* out, const float* x) {
  parallel_for(n, kElementsChunk, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) out[i].bits = rounded(x[i]);
  });
}

void from_bfloat16(int64_t n, float* out, const bfloat16* x) {
  parallel_for(n, kElementsChunk, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) out[i] = widened(x[i]);
  });
}

void from_bfloat16(const Loop<2>& loop, float* out, const bfloat16* x) { walk_each(loop, widened, out, x); }

}  // namespace gradus::kernels
