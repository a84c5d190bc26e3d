// Products in bfloat16 by vectors, with tiles of c in registers.
#pragma once

#include "gradus/annexes/fast/bf16/bf16_product.hpp"
#include "gradus/autograd/kernels/loops/vector.hpp"

namespace gradus::kernels::GRADUS_ISA {

// Rows and columns of a packed tile, and pairs along its k.
constexpr int kSide = 16, kPairs = 16;

// Vectors across a tile of c, and their strips: four with 32 registers, two with 16. Rows: 16 = 6 + 5 + 5.
#if defined(__AVX512F__) || defined(__ARM_NEON)
constexpr int kColumnVectors = 4;
#else
constexpr int kColumnVectors = 2;
#endif
constexpr int kSideVectors = kSide / kLanes<float>;
constexpr int kColumnStrips = kSideVectors > 1 ? 1 : kColumnVectors;

// Strips of right exceed the first-level cache if a vector is a cache line; prefetched by this many pairs.
constexpr int kPairsAhead = 4;

// Math defines the words of left and right, how many of them make a pair (kHalves), and what they add to a
// sum. A tile of left is (16 rows, kHalves, 16) words, one of right (16, kHalves, 16). A sum is one chain.
template <class Math, int kRows, int kVectors>
void multiply_rows(const Bf16Tiles& b, const typename Math::Word* left, const typename Math::Word* right,
                   const float* start, float* out) {
  typedef typename Math::Word Word;
  constexpr int kStride = kSide * Math::kHalves;
  constexpr auto kWordBytes = static_cast<int64_t>(sizeof(Word));
  const int64_t strip_step = b.right.strip_step / kWordBytes;
  const int64_t left_step = b.left.tile_step / kWordBytes, right_step = b.right.tile_step / kWordBytes;
  Vector<float> sum[kRows][kVectors];
  // Unrolled, or gcc keeps the sums in memory.
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[i][v] = load(start + i * b.start_stride + v * kLanes<float>);
  for (int i = 0; i < kRows; ++i)
    for (int v = 0; v < kVectors; v += kSideVectors)
      __builtin_prefetch(out + i * b.out_stride + v * kLanes<float>, 1);
  int64_t tiles = b.depth;
  do {  // With a loop that may not run, gcc uses more registers, and 5 % more time.
    for (int pair = 0; pair < kPairs; ++pair) {
      for (int half = 0; half < Math::kHalves; ++half) {
        Vector<Word> line[kVectors];
        for (int v = 0; v < kVectors; ++v) {
          const Word* const from =
              right + half * kSide + v / kSideVectors * strip_step + v % kSideVectors * kLanes<float>;
          if constexpr (kSideVectors == 1) __builtin_prefetch(from + kPairsAhead * kStride);
          line[v] = load(from);
        }
        for (int i = 0; i < kRows; ++i) {
          const Vector<Word> value = broadcast(left[i * kStride + half * kSide]);
          for (int v = 0; v < kVectors; ++v) sum[i][v] = Math::add(sum[i][v], value, line[v]);
        }
      }
      left += 1;
      right += kStride;
    }
    left += left_step - kPairs;
    right += right_step - kPairs * kStride;
  } while (--tiles > 0);
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) store(out + i * b.out_stride + v * kLanes<float>, sum[i][v]);
}

// All rows of a strip, kRows at a time and then one fewer.
template <class Math, int kRows, int kVectors>
void multiply_strip(const Bf16Tiles& b, const typename Math::Word* left, const typename Math::Word* right,
                    const float* start, float* out) {
  constexpr int kStride = kSide * Math::kHalves, kFewer = kSide % kRows == 0 ? kRows : kRows - 1;
  multiply_rows<Math, kRows, kVectors>(b, left, right, start, out);
  for (int row = kRows; row < kSide; row += kFewer)
    multiply_rows<Math, kFewer, kVectors>(b, left + row * kStride, right, start + row * b.start_stride,
                                          out + row * b.out_stride);
}

template <class Math>
void multiply_tiles(const Bf16Tiles& b) {
  typedef typename Math::Word Word;
  const auto* const left = reinterpret_cast<const Word*>(b.left.data);
  const auto* const right = reinterpret_cast<const Word*>(b.right.data);
  if constexpr (kColumnStrips == 1) {
    for (int column = 0; column < kSide; column += kColumnVectors * kLanes<float>)
      multiply_strip<Math, 6, kColumnVectors>(b, left, right + column, b.start + column, b.out + column);
  } else if (b.columns == 4) {
    multiply_strip<Math, 6, 4>(b, left, right, b.start, b.out);
  } else if (b.columns == 3) {
    multiply_strip<Math, 8, 3>(b, left, right, b.start, b.out);
  } else if (b.columns == 2) {
    multiply_strip<Math, 8, 2>(b, left, right, b.start, b.out);
  } else {
    multiply_strip<Math, 16, 1>(b, left, right, b.start, b.out);
  }
}

}  // namespace gradus::kernels::GRADUS_ISA
