// How to compute with each type of tiles, at each level of the loops; quantizing needs no level.
#pragma once

#include <cmath>
#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "gradus/autograd/tensor/dtype.hpp"

#ifndef GRADUS_ISA
#define GRADUS_ISA any_level
#endif
#define GRADUS_VNNI __attribute__((target("avx512vnni")))

namespace gradus::kernels {

/// A row of numbers rounded to 8 bits: of every 32 the values, their scale and their sum.
struct RoundedRow {
  const int8_t* values;
  const float* scales;
  const int32_t* sums;
};

struct TileLoops {
  /// Rounds n numbers of a tile's row: their values, scale and sum. If one is not finite, the scale is NaN.
  void (*round)(int64_t n, const float* x, int8_t* values, float* scale, int32_t* sum);
  /// One function for each type. It sets y[r] to the dot product of x and row r of `count` adjacent tiles.
  void (*dots[kTileTypes])(int64_t count, const void* tiles, RoundedRow x, float* y);
};

namespace GRADUS_ISA {

/// The scale of a row of 32 makes of its largest number x one of the values kLeast to kMost, by scale_of(x);
/// of it and kTried scales on each side, the one with the least squared error is taken. get() and put() are
/// for row `row`, column 4 * at + i. sums_of() has the sums of products with x of rows 8 * half and the seven
/// after it, unsigned_values() columns 4 * at to 4 * at + 3 of all rows, each plus kTooLarge.
template <class Tile>
struct Format;

/// half must be finite.
inline float from_float16(uint16_t half) {
  const uint32_t bits = (half & 0x7FFFU) << 13;
  float magnitude;
  __builtin_memcpy(&magnitude, &bits, sizeof magnitude);
  return half & 0x8000U ? -magnitude * 0x1p112F : magnitude * 0x1p112F;
}

/// The four numbers of x for columns 4 * at to 4 * at + 3 of a tile.
inline int four_of(RoundedRow x, int64_t tile, int at) {
  int four;
  __builtin_memcpy(&four, x.values + tile * kWeightColumns + 4 * at, sizeof four);
  return four;
}

#ifdef __AVX2__
inline __m256i load_eight(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
#endif

/// GGUF's Q8_0.
template <>
struct Format<Q8Tile> {
  static constexpr float kLeast = -127, kMost = 127;
  static constexpr int kTried = 0;
  static float scale_of(float x) { return std::abs(x) / 127.0F; }
  static int get(const Q8Tile& tile, int64_t at, int64_t row, int64_t i) { return tile.values[at][row][i]; }
  static void put(Q8Tile& tile, int64_t at, int64_t row, int64_t i, int value) {
    tile.values[at][row][i] = static_cast<int8_t>(value);
  }

#ifdef __AVX2__
  // The instruction multiplies unsigned bytes by signed ones and adds pairs, which must fit 16 bits: |x| * (w
  // with the sign of x).
  static __m256i sums_of(const Q8Tile& tile, int64_t half, RoundedRow x, int64_t t) {
    __m256i sum = _mm256_setzero_si256();
    for (int at = 0; at < 8; ++at) {
      const __m256i four = _mm256_set1_epi32(four_of(x, t, at));
      const __m256i pairs = _mm256_maddubs_epi16(
          _mm256_abs_epi8(four), _mm256_sign_epi8(load_eight(tile.values[at][8 * half]), four));
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
    }
    return sum;
  }
#endif
#ifdef __AVX512F__
  static constexpr int kTooLarge = 128;
  GRADUS_VNNI static __m512i unsigned_values(const Q8Tile& tile, int at) {
    return _mm512_xor_si512(_mm512_loadu_si512(tile.values[at]), _mm512_set1_epi8(-128));
  }
#endif
};

/// GGUF's Q4_0.
template <>
struct Format<Q4Tile> {
  static constexpr float kLeast = -8, kMost = 7;
  static constexpr int kTried = 8;
  static float scale_of(float x) { return x / -8.0F; }
  static int get(const Q4Tile& tile, int64_t at, int64_t row, int64_t i) {
    const int both = tile.values[at % 4][row][i];
    return (at < 4 ? both & 15 : both >> 4) - 8;
  }
  static void put(Q4Tile& tile, int64_t at, int64_t row, int64_t i, int value) {
    uint8_t& both = tile.values[at % 4][row][i];
    const int half = value + 8;
    both = static_cast<uint8_t>(at < 4 ? (both & 0xF0) | half : (both & 0x0F) | half << 4);
  }

#ifdef __AVX2__
  // The weights are 8 too large, hence unsigned. Eight pairs fit 16 bits: 8 * 2 * 15 * 127.
  static __m256i sums_of(const Q4Tile& tile, int64_t half, RoundedRow x, int64_t t) {
    const __m256i low = _mm256_set1_epi8(15);
    __m256i pairs = _mm256_setzero_si256();
    for (int at = 0; at < 4; ++at) {
      const __m256i both = load_eight(tile.values[at][8 * half]);
      const __m256i first = _mm256_and_si256(both, low),
                    second = _mm256_and_si256(_mm256_srli_epi16(both, 4), low);
      pairs = _mm256_add_epi16(pairs, _mm256_maddubs_epi16(first, _mm256_set1_epi32(four_of(x, t, at))));
      pairs = _mm256_add_epi16(pairs, _mm256_maddubs_epi16(second, _mm256_set1_epi32(four_of(x, t, at + 4))));
    }
    return _mm256_sub_epi32(_mm256_madd_epi16(pairs, _mm256_set1_epi16(1)), _mm256_set1_epi32(8 * x.sums[t]));
  }
#endif
#ifdef __AVX512F__
  static constexpr int kTooLarge = 8;
  GRADUS_VNNI static __m512i unsigned_values(const Q4Tile& tile, int at) {
    const __m512i both = _mm512_loadu_si512(tile.values[at % 4]);
    return _mm512_and_si512(at < 4 ? both : _mm512_srli_epi16(both, 4), _mm512_set1_epi8(15));
  }
#endif
};

}  // namespace GRADUS_ISA
}  // namespace gradus::kernels
