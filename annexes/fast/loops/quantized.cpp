// Rounds rows of x to 8 bits, and multiplies them by 16 rows of quantized weights. Sums of 32 products are
// exact integers; they are added in the order of the tiles.
#include <cmath>

#include "gradus/annexes/fast/quantized/quantized.hpp"

#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/loops/vector.hpp"

namespace gradus::kernels::GRADUS_ISA {

void round(int64_t n, const float* x, int8_t* values, float* scale, int32_t* sum) {
  float largest = 0, wrong = 0;  // wrong: NaN if x has an infinity or a NaN
#pragma omp simd reduction(max : largest) reduction(+ : wrong)
  for (int64_t i = 0; i < n; ++i) {
    const float size = std::abs(x[i]);
    largest = largest < size ? size : largest;
    wrong += x[i] * 0.0F;
  }
  *scale = largest / 127.0F + wrong;
  const float up = largest < 0x1p-100F ? 0x1p40F : 1.0F;  // else 127 / largest may be infinite
  const float inverse = largest > 0 && wrong == 0 ? 127.0F / (largest * up) : 0.0F;
  int32_t total = 0;
#pragma omp simd reduction(+ : total)
  for (int64_t i = 0; i < n; ++i) {
    const auto rounded = static_cast<int32_t>(wrong == 0 ? std::nearbyint(x[i] * up * inverse) : 0.0F);
    values[i] = static_cast<int8_t>(rounded);
    total += rounded;
  }
  *sum = total;
}

/// Prefetches one line of the next page into the second cache. Processors prefetch the lines after it, but
/// not beyond the end of a page. Prefetches of all lines would wait for each other.
template <class Tile>
void prefetch_next_page(const Tile* tile) {
  constexpr int64_t kPage = 4096, kToSecondCache = 2;
  __builtin_prefetch(reinterpret_cast<const char*>(tile) + kPage, 0, kToSecondCache);
}

/// The four numbers of x for columns 4 * at to 4 * at + 3 of a tile.
inline int four_of(RoundedRow x, int64_t tile, int at) {
  int four;
  __builtin_memcpy(&four, x.values + tile * kWeightColumns + 4 * at, sizeof four);
  return four;
}

#ifdef __AVX2__

inline __m256i load_eight(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }

// The instruction multiplies unsigned bytes by signed ones and adds pairs, which must fit 16 bits: |x| * (w
// with the sign of x).
inline __m256i sums_of(const Q8Tile& tile, int64_t half, RoundedRow x, int64_t t) {
  __m256i sum = _mm256_setzero_si256();
  for (int at = 0; at < 8; ++at) {
    const __m256i four = _mm256_set1_epi32(four_of(x, t, at));
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(four),
                                               _mm256_sign_epi8(load_eight(tile.values[at][8 * half]), four));
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
  return sum;
}

// The weights are 8 too large, hence unsigned. Eight pairs fit 16 bits: 8 * 2 * 15 * 127.
inline __m256i sums_of(const Q4Tile& tile, int64_t half, RoundedRow x, int64_t t) {
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

template <class Tile>
void plain_dots(int64_t count, const Tile* tiles, RoundedRow x, float* y) {
  __m256 sum[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
  for (int64_t t = 0; t < count; ++t) {
    prefetch_next_page(tiles + t);
    for (int half = 0; half < 2; ++half) {
      const __m128i scales = _mm_loadu_si128(reinterpret_cast<const __m128i*>(tiles[t].scales + 8 * half));
      const __m256 scale = _mm256_mul_ps(_mm256_cvtph_ps(scales), _mm256_set1_ps(x.scales[t]));
      sum[half] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums_of(tiles[t], half, x, t)), scale, sum[half]);
    }
  }
  for (int half = 0; half < 2; ++half) _mm256_storeu_ps(y + 8 * half, sum[half]);
}

#else

inline float scale_of(uint16_t half) {
  const uint32_t bits = (half & 0x7FFFU) << 13;
  float magnitude;
  __builtin_memcpy(&magnitude, &bits, sizeof magnitude);
  magnitude *= 0x1p112F;
  return half & 0x8000U ? -magnitude : magnitude;
}

inline int value_of(const Q8Tile& tile, int at, int row, int i) { return tile.values[at][row][i]; }
inline int value_of(const Q4Tile& tile, int at, int row, int i) {
  const int both = tile.values[at % 4][row][i];
  return (at < 4 ? both & 15 : both >> 4) - 8;
}

template <class Tile>
void plain_dots(int64_t count, const Tile* tiles, RoundedRow x, float* y) {
  for (int row = 0; row < kWeightRows; ++row) y[row] = 0;
  for (int64_t t = 0; t < count; ++t) {
    int sums[kWeightRows] = {};
    for (int at = 0; at < 8; ++at)
      for (int row = 0; row < kWeightRows; ++row)
        for (int i = 0; i < 4; ++i)
          sums[row] += value_of(tiles[t], at, row, i) * x.values[t * kWeightColumns + 4 * at + i];
    for (int row = 0; row < kWeightRows; ++row)
      y[row] += static_cast<float>(sums[row]) * (scale_of(tiles[t].scales[row]) * x.scales[t]);
  }
}

#endif

#ifdef __AVX512F__

#define GRADUS_VNNI __attribute__((target("avx512vnni")))

GRADUS_VNNI inline __m512i sixteen_of(const void* from) { return _mm512_loadu_si512(from); }

// The unsigned weights are too large by this.
constexpr int too_large(const Q8Tile&) { return 128; }
constexpr int too_large(const Q4Tile&) { return 8; }
GRADUS_VNNI inline __m512i unsigned_values(const Q8Tile& tile, int at) {
  return _mm512_xor_si512(sixteen_of(tile.values[at]), _mm512_set1_epi8(-128));
}
GRADUS_VNNI inline __m512i unsigned_values(const Q4Tile& tile, int at) {
  const __m512i both = sixteen_of(tile.values[at % 4]);
  return _mm512_and_si512(at < 4 ? both : _mm512_srli_epi16(both, 4), _mm512_set1_epi8(15));
}

template <class Tile>
GRADUS_VNNI void vnni_dots(int64_t count, const Tile* tiles, RoundedRow x, float* y) {
  __m512 sum = _mm512_setzero_ps();
  for (int64_t t = 0; t < count; ++t) {
    prefetch_next_page(tiles + t);
    __m512i sums = _mm512_set1_epi32(-too_large(tiles[t]) * x.sums[t]);
#pragma GCC unroll 8
    for (int at = 0; at < 8; ++at)
      sums = _mm512_dpbusd_epi32(sums, unsigned_values(tiles[t], at), _mm512_set1_epi32(four_of(x, t, at)));
    const __m256i scales = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(tiles[t].scales));
    // The mask keeps gcc 12 from warning of an undefined value in its header.
    const __m512 scale = _mm512_mul_ps(_mm512_maskz_cvtph_ps(0xFFFF, scales), _mm512_set1_ps(x.scales[t]));
    sum = _mm512_fmadd_ps(_mm512_maskz_cvtepi32_ps(0xFFFF, sums), scale, sum);
  }
  _mm512_storeu_ps(y, sum);
}

#endif

template <class Tile>
void dots(int64_t count, const Tile* tiles, RoundedRow x, float* y) {
#ifdef __AVX512F__
  if (__builtin_cpu_supports("avx512vnni")) return vnni_dots(count, tiles, x, y);
#endif
  plain_dots(count, tiles, x, y);
}

GRADUS_BUILD_ONE(TileLoops, round, dots<Q8Tile>, dots<Q4Tile>);

}  // namespace gradus::kernels::GRADUS_ISA
