// Products in bfloat16 by AVX512_BF16: an instruction adds a product of pairs.
#include "gradus/autograd/kernels/loops/bf16_tiles.hpp"

namespace gradus::kernels::GRADUS_ISA {

// VDPBF16PS: first the second numbers of a pair, then the first ones.
struct PairMath {
  typedef uint32_t Word;
  static constexpr int kHalves = 1;
  static Vector<float> add(Vector<float> sum, Vector<Word> left, Vector<Word> right) {
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(left), reinterpret_cast<__m512bh>(right));
  }
};

const Bf16Kernel kernel = {
    .rows = 1, .columns = kColumnStrips, .depth = 16, .panel = 32, .multiply = multiply_tiles<PairMath>};

}  // namespace gradus::kernels::GRADUS_ISA
