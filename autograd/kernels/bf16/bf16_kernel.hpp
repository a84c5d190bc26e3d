// The part of a product in bfloat16 that depends on the instruction set: whole tiles (see bf16_pack.hpp), on
// one thread. Edges, blocks and threads are bf16_product.cpp's.
#pragma once

#include <cstdint>

#include "gradus/autograd/kernels/elementwise/bfloat16.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"

namespace gradus::kernels {

/// out (16 rows, 16 columns) = start + left @ right, in float32. `rows` strips of left and `columns` of
/// right, `depth` tiles each, one behind the other; the next strip is left_step or right_step bytes on. Rows
/// of start and out are start_step and out_step elements apart; start may be out, or a single row (start_step
/// 0).
struct Bf16Block {
  const void* left;
  int64_t left_step;
  const void* right;
  int64_t right_step;
  int64_t rows, columns, depth;
  const float* start;
  int64_t start_step;
  float* out;
  int64_t out_step;
};

struct Bf16Kernel {
  int64_t rows, columns;  // strips that `multiply` takes at most
  int64_t depth;          // tiles along k whose `rows` strips fit the first cache
  int64_t panel;          // strips of right, so deep, that fit the second one
  void (*multiply)(const Bf16Block& block);
  // Where multiply() takes float32: makes 32 of 16 pairs, the first ones, then the second ones, for each
  // half of a cache line. Else null.
  void (*widen)(int64_t lines, const bfloat16* pairs, float* out);
  // Around any number of products on a thread, or null.
  void (*begin)();
  void (*end)();
};

/// The kernel that is built at each level.
struct WidenedLoops {
  Bf16Kernel kernel;
};

// The kernels of bf16/isa/, each built where the compiler knows its instructions.
namespace amx {
extern const Bf16Kernel kernel;
}
namespace avx512_bf16 {
extern const Bf16Kernel kernel;
}

/// The kernel of an instruction set that is available for bf16.
const Bf16Kernel& bf16_kernel(Isa isa);

}  // namespace gradus::kernels
