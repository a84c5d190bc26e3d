// Blocks of c in registers: products of a unit that works on vectors.
#pragma once

#include "gradus/autograd/kernels/bf16/bf16_kernel.hpp"
#include "gradus/autograd/kernels/loops/vector.hpp"

namespace gradus::kernels::GRADUS_ISA {

// Rows and columns of a tile, and pairs along its k.
constexpr int kSide = 16, kPairs = 16;

// Vectors of c side by side in a block, and the strips that they take: with 32 registers four, with 16 two.
// Rows are then as many as the registers hold: 16 = 6 + 5 + 5.
#if defined(__AVX512F__) || defined(__ARM_NEON)
constexpr int kBlockVectors = 4;
#else
constexpr int kBlockVectors = 2;
#endif
constexpr int kSideVectors = kSide / kLanes<float>;
constexpr int kBlockStrips = kSideVectors > 1 ? 1 : kBlockVectors;

// Strips of right side by side are too long for the first cache where a vector is a line of it: asked for so
// many pairs ahead, they come from the second one in time.
constexpr int kPairsAhead = 4;

// Math says what a word of left and a vector of words of right are, how many (kHalves) make a pair of k, and
// what they add to a sum. Left is (16 rows, kHalves, 16) words a tile, right (16, kHalves, 16 columns).
// A sum is one chain along k, so that its bits do not depend on where blocks end.
template <class Math, int kRows, int kVectors>
void multiply_rows(const Bf16Block& b, const typename Math::Word* left, const typename Math::Word* right,
                   const float* start, float* out) {
  typedef typename Math::Word Word;
  constexpr int kStep = kSide * Math::kHalves;
  const int64_t right_step = b.right_step / static_cast<int64_t>(sizeof(Word));
  Vector<float> sum[kRows][kVectors];
  // Said so that gcc never gives the sums a place in memory.
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[i][v] = load(start + i * b.start_step + v * kLanes<float>);
  // They will not have come from memory before the sums are made.
  for (int i = 0; i < kRows; ++i)
    for (int v = 0; v < kVectors; v += kSideVectors)
      __builtin_prefetch(out + i * b.out_step + v * kLanes<float>, 1);
  int64_t tiles = b.depth;
  do {  // A loop that may have no turns costs gcc registers, and 5 % of the time.

    for (int pair = 0; pair < kPairs; ++pair) {
      for (int half = 0; half < Math::kHalves; ++half) {
        Vector<Word> line[kVectors];
        for (int v = 0; v < kVectors; ++v) {
          const Word* const from =
              right + half * kSide + v / kSideVectors * right_step + v % kSideVectors * kLanes<float>;
          if constexpr (kSideVectors == 1) __builtin_prefetch(from + kPairsAhead * kStep);
          line[v] = load(from);
        }
        for (int i = 0; i < kRows; ++i) {
          const Vector<Word> value = broadcast(left[i * kStep + half * kSide]);
          for (int v = 0; v < kVectors; ++v) sum[i][v] = Math::add(sum[i][v], value, line[v]);
        }
      }
      left += 1;
      right += kStep;
    }
    left += kPairs * kStep - kPairs;
  } while (--tiles > 0);
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) store(out + i * b.out_step + v * kLanes<float>, sum[i][v]);
}

// All rows of a strip, kRows at a time and then one fewer.
template <class Math, int kRows, int kVectors>
void multiply_strip(const Bf16Block& b, const typename Math::Word* left, const typename Math::Word* right,
                    const float* start, float* out) {
  constexpr int kStep = kSide * Math::kHalves, kFewer = kSide % kRows == 0 ? kRows : kRows - 1;
  multiply_rows<Math, kRows, kVectors>(b, left, right, start, out);
  for (int row = kRows; row < kSide; row += kFewer)
    multiply_rows<Math, kFewer, kVectors>(b, left + row * kStep, right, start + row * b.start_step,
                                          out + row * b.out_step);
}

template <class Math>
void multiply_blocks(const Bf16Block& b) {
  typedef typename Math::Word Word;
  const auto* const left = static_cast<const Word*>(b.left);
  const auto* const right = static_cast<const Word*>(b.right);
  if constexpr (kBlockStrips == 1) {
    for (int column = 0; column < kSide; column += kBlockVectors * kLanes<float>)
      multiply_strip<Math, 6, kBlockVectors>(b, left, right + column, b.start + column, b.out + column);
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
