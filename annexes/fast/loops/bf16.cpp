// Operands in bfloat16: packing float32, and products where no instruction multiplies bfloat16, of tiles that
// are widened to float32.
#include "gradus/annexes/fast/loops/bf16_pack_tiles.hpp"
#include "gradus/annexes/fast/loops/bf16_tiles.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/loops/vector.hpp"

namespace gradus::kernels::GRADUS_ISA {

struct IntegerRounding {
  static Words along(Vector<float> a, Vector<float> b) {
    return across(every_second<0>(a, b), every_second<1>(a, b));
  }
  static Words across(Vector<float> first, Vector<float> second) {
    return (nearest(first) >> 16) | (nearest(second) & 0xFFFF0000);
  }

 private:
  // Words whose upper halves are the nearest bfloat16.
  static Words nearest(Vector<float> x) {
    const Words bits = reinterpret_cast<Words>(x), rounded = bits + 0x7FFF + ((bits >> 16) & 1);
    return x != x ? bits | 0x400000 : rounded;  // NaN: quiet, and not rounded to infinity
  }
};

GRADUS_BUILD_ONE(PackLoops, kPackLoops<IntegerRounding>);

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
                                .columns = kColumnStrips,
                                .depth = 16,
                                .panel = 16,
                                .multiply = multiply_tiles<WidenedMath>,
                                .widen = widen});

}  // namespace gradus::kernels::GRADUS_ISA
