// Products in bfloat16 by AVX512_BF16: an instruction adds a product of pairs, another rounds two vectors.
#include "gradus/annexes/fast/loops/bf16_pack_tiles.hpp"
#include "gradus/annexes/fast/loops/bf16_tiles.hpp"

namespace gradus::kernels::GRADUS_ISA {

// VDPBF16PS: first the second numbers of a pair, then the first ones.
struct PairMath {
  typedef uint32_t Word;
  static constexpr int kHalves = 1;
  static Vector<float> add(Vector<float> sum, Vector<Word> left, Vector<Word> right) {
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(left), reinterpret_cast<__m512bh>(right));
  }
};

// VCVTNE2PS2BF16, which takes subnormal numbers as 0.
struct HardwareRounding {
  static Words along(Vector<float> a, Vector<float> b) {
    return reinterpret_cast<Words>(_mm512_cvtne2ps_pbh(b, a));
  }
  static Words across(Vector<float> first, Vector<float> second) {
    typedef Simd<uint16_t, kVectorBytes>::Vector Halves;
    return interleaved(reinterpret_cast<Halves>(_mm512_cvtne2ps_pbh(second, first)),
                       std::make_integer_sequence<int, kWords>());
  }

 private:
  template <class Halves, int... i>
  static Words interleaved(Halves both, std::integer_sequence<int, i...>) {
    return reinterpret_cast<Words>(__builtin_shufflevector(both, both, (i / 2 + i % 2 * kWords)...,
                                                           (kWords / 2 + i / 2 + i % 2 * kWords)...));
  }
};

const PackLoops pack_loops = kPackLoops<HardwareRounding>;

const Bf16Kernel kernel = {
    .rows = 1, .columns = kColumnStrips, .depth = 16, .panel = 32, .multiply = multiply_tiles<PairMath>};

}  // namespace gradus::kernels::GRADUS_ISA
