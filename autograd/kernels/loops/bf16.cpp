// Operands in bfloat16: packing float32, and products where no instruction multiplies bfloat16, of tiles that
// are widened to float32.
#include <utility>

#include "gradus/autograd/kernels/bf16/bf16_pack.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/loops/bf16_tiles.hpp"
#include "gradus/autograd/kernels/loops/vector.hpp"

namespace gradus::kernels::GRADUS_ISA {

typedef Vector<uint32_t> Words;
constexpr int kWords = kLanes<uint32_t>;
constexpr int kTileWords = 16;  // in a row of a tile, and rows of a tile

// Words whose upper halves are the nearest bfloat16.
inline Words rounded(Vector<float> x) {
  const Words bits = reinterpret_cast<Words>(x), nearest = bits + 0x7FFF + ((bits >> 16) & 1);
  return x != x ? bits | 0x400000 : nearest;  // NaN: quiet, and not rounded to infinity
}

inline Words pairs(Vector<float> first, Vector<float> second) {
  return (rounded(first) >> 16) | (rounded(second) & 0xFFFF0000);
}

// Pairs of two neighbours in a row, or of two rows.
inline Words pairs_along(const float* x) {
  const Vector<float> a = load(x), b = load(x + kWords);
  return pairs(every_second<0>(a, b), every_second<1>(a, b));
}
inline Words pairs_across(const float* x, const float* below) { return pairs(load(x), load(below)); }

template <int distance, int... i>
void exchange(Words& a, Words& b, std::integer_sequence<int, i...>) {
  const Words upper = __builtin_shufflevector(a, b, (i & distance ? kWords + i - distance : i)...);
  b = __builtin_shufflevector(a, b, (i & distance ? kWords + i : i + distance)...);
  a = upper;
}

// Transposes: exchanges the off-diagonal squares of half the rows, of a quarter and so on.
template <int distance = kWords / 2>
void transpose_words(Words (&rows)[kWords]) {
  for (int i = 0; i < kWords; ++i)
    if ((i & distance) == 0)
      exchange<distance>(rows[i], rows[i + distance], std::make_integer_sequence<int, kWords>());
  if constexpr (distance > 1) transpose_words<distance / 2>(rows);
}

// Processors do not prefetch from this many rows by themselves.
constexpr int kBytesAhead = 256;
inline void prefetch_pair(const float* one, const float* other) {
  __builtin_prefetch(one + kBytesAhead / sizeof(float));
  __builtin_prefetch(other + kBytesAhead / sizeof(float));
}

template <bool across, bool transposed, bool streamed>
void pack_tile(const float* x, int64_t ldx, bfloat16* out) {
  for (int row = 0; row < kTileWords; row += kWords)
    for (int column = 0; column < kTileWords; column += kWords) {
      Words words[kWords];
      for (int i = 0; i < kWords; ++i) {
        if constexpr (across) {
          const float* const from = x + 2 * (row + i) * ldx + column;
          if (column == 0) prefetch_pair(from, from + ldx);
          words[i] = pairs_across(from, from + ldx);
        } else {
          const float* const from = x + (row + i) * ldx + 2 * column;
          if (column == 0) prefetch_pair(from, from + kTileWords);
          words[i] = pairs_along(from);
        }
      }
      if constexpr (transposed) transpose_words(words);
      bfloat16* const to = out + 2 * (transposed ? column * kTileWords + row : row * kTileWords + column);
      for (int i = 0; i < kWords; ++i) {
        if constexpr (streamed)
          store_past_caches(to + 2 * i * kTileWords, words[i]);
        else
          __builtin_memcpy(to + 2 * i * kTileWords, &words[i], sizeof words[i]);
      }
    }
}

template <bool across, bool transposed>
void pack_tiles(int64_t tiles, const float* x, int64_t ldx, int64_t stride, bfloat16* out, int64_t out_stride,
                bool streamed) {
  if (!streamed || !kStoresPastCaches) {
    for (int64_t tile = 0; tile < tiles; ++tile)
      pack_tile<across, transposed, false>(x + tile * stride, ldx, out + tile * out_stride);
    return;
  }
  for (int64_t tile = 0; tile < tiles; ++tile)
    pack_tile<across, transposed, true>(x + tile * stride, ldx, out + tile * out_stride);
  finish_stores();
}

GRADUS_BUILD_ONE(PackLoops, {{pack_tiles<false, false>, pack_tiles<false, true>},
                             {pack_tiles<true, false>, pack_tiles<true, true>}});

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
