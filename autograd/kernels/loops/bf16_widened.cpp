// Products in bfloat16 where no instruction multiplies it: tiles are widened to float32, once for all that
// they meet, and multiplied as such.
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/loops/bf16_blocks.hpp"

namespace gradus::kernels::GRADUS_ISA {

struct WidenedMath {
  typedef float Word;
  static constexpr int kHalves = 2;
  static Vector<float> add(Vector<float> sum, Vector<float> left, Vector<float> right) {
    return fused(left, right, sum);
  }
};

inline void widen(int64_t lines, const bfloat16* pairs, float* out) {
  for (int64_t line = 0; line < lines; ++line)
    for (int i = 0; i < kPairs; i += kLanes<float>) {
      Vector<uint32_t> both;
      __builtin_memcpy(&both, pairs + (line * kPairs + i) * 2, sizeof both);
      float* const to = out + line * 2 * kPairs + i;
      store(to, reinterpret_cast<Vector<float>>(both << 16));
      store(to + kPairs, reinterpret_cast<Vector<float>>(both & 0xFFFF0000));
    }
}

GRADUS_BUILD_ONE(WidenedLoops, {.rows = 1,
                                .columns = kBlockStrips,
                                .depth = 16,
                                .panel = 16,
                                .multiply = multiply_blocks<WidenedMath>,
                                .widen = widen,
                                .begin = nullptr,
                                .end = nullptr});

}  // namespace gradus::kernels::GRADUS_ISA
