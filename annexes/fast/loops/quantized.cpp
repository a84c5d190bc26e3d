// Rounds rows of x to 8 bits, and multiplies them by 16 rows of quantized weights, in the order of tiles.
#include <cmath>

#include "gradus/annexes/fast/quantized/formats.hpp"

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

#ifdef __AVX2__

template <class Tile>
void plain_dots(int64_t count, const Tile* tiles, RoundedRow x, float* y) {
  __m256 sum[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
  for (int64_t t = 0; t < count; ++t) {
    prefetch_next_page(tiles + t);
    for (int half = 0; half < 2; ++half) {
      const __m128i scales = _mm_loadu_si128(reinterpret_cast<const __m128i*>(tiles[t].scales + 8 * half));
      const __m256 scale = _mm256_mul_ps(_mm256_cvtph_ps(scales), _mm256_set1_ps(x.scales[t]));
      sum[half] =
          _mm256_fmadd_ps(_mm256_cvtepi32_ps(Format<Tile>::sums_of(tiles[t], half, x, t)), scale, sum[half]);
    }
  }
  for (int half = 0; half < 2; ++half) _mm256_storeu_ps(y + 8 * half, sum[half]);
}

#else

template <class Tile>
void plain_dots(int64_t count, const Tile* tiles, RoundedRow x, float* y) {
  for (int row = 0; row < kWeightRows; ++row) y[row] = 0;
  for (int64_t t = 0; t < count; ++t) {
    int sums[kWeightRows] = {};
    for (int at = 0; at < 8; ++at)
      for (int row = 0; row < kWeightRows; ++row)
        for (int i = 0; i < 4; ++i)
          sums[row] += Format<Tile>::get(tiles[t], at, row, i) * x.values[t * kWeightColumns + 4 * at + i];
    for (int row = 0; row < kWeightRows; ++row)
      y[row] += static_cast<float>(sums[row]) * (from_float16(tiles[t].scales[row]) * x.scales[t]);
  }
}

#endif

#ifdef __AVX512F__

template <class Tile>
GRADUS_VNNI void vnni_dots(int64_t count, const Tile* tiles, RoundedRow x, float* y) {
  __m512 sum = _mm512_setzero_ps();
  for (int64_t t = 0; t < count; ++t) {
    prefetch_next_page(tiles + t);
    __m512i sums = _mm512_set1_epi32(-Format<Tile>::kTooLarge * x.sums[t]);
#pragma GCC unroll 8
    for (int at = 0; at < 8; ++at)
      sums = _mm512_dpbusd_epi32(sums, Format<Tile>::unsigned_values(tiles[t], at),
                                 _mm512_set1_epi32(four_of(x, t, at)));
    const __m256i scales = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(tiles[t].scales));
    // The mask keeps gcc 12 from warning of an undefined value in its header.
    const __m512 scale = _mm512_mul_ps(_mm512_maskz_cvtph_ps(0xFFFF, scales), _mm512_set1_ps(x.scales[t]));
    sum = _mm512_fmadd_ps(_mm512_maskz_cvtepi32_ps(0xFFFF, sums), scale, sum);
  }
  _mm512_storeu_ps(y, sum);
}

#endif

template <class Tile>
void dots(int64_t count, const void* tiles, RoundedRow x, float* y) {
  const auto* const w = static_cast<const Tile*>(tiles);
#ifdef __AVX512F__
  if (__builtin_cpu_supports("avx512vnni")) return vnni_dots(count, w, x, y);
#endif
  plain_dots(count, w, x, y);
}

#define GRADUS_DOTS(dtype, Tile, word) dots<Tile>,
GRADUS_BUILD_ONE(TileLoops, round, {GRADUS_TILES(GRADUS_DOTS)});

}  // namespace gradus::kernels::GRADUS_ISA
