#include "gradus/annexes/fast/quantized/quantized.hpp"

#include <algorithm>
#include <bit>
#include <vector>

#include "gradus/annexes/fast/quantized/formats.hpp"
#include "gradus/autograd/kernels/blas/choose_product.hpp"
#include "gradus/autograd/kernels/blas/gemm.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"

namespace gradus::kernels {
namespace {

using GRADUS_ISA::Format;
using GRADUS_ISA::from_float16;

constexpr int64_t kConvertedAtATime = 16384;       // numbers, on one thread
constexpr int64_t kSmallTileRead = 262144;         // weights that one thread reads faster than it shares them
constexpr int64_t kWidenedRows = 8 * kWeightRows;  // of weights that are float32 at a time
constexpr float kLargestHalf = 65504.0F;

/// Rounds to nearest, ties to even; clamps to finite values.
uint16_t to_float16(float x) {
  const float size = std::min(std::abs(x), kLargestHalf);
  // Below 2^-14 numbers are 2^-24 apart; above, the last 13 bits of a float32 are dropped.
  const auto bits = std::bit_cast<uint32_t>(size);
  const uint32_t rounded = size < 0x1p-14F ? static_cast<uint32_t>(std::nearbyint(size * 0x1p24F))
                                           : (bits - (uint32_t{112} << 23) + 0xFFF + (bits >> 13 & 1)) >> 13;
  return static_cast<uint16_t>(rounded | (std::signbit(x) ? 0x8000U : 0U));
}

/// x / scale as the nearest value of a tile; 0 for NaN.
template <class Tile>
int value_for(float x, float scale) {
  if (std::isnan(x) || scale == 0) return 0;
  return static_cast<int>(std::clamp(std::nearbyint(x / scale), Format<Tile>::kLeast, Format<Tile>::kMost));
}

/// The number of the largest magnitude; ignores NaN.
float largest(int64_t n, const float* x) {
  float most = 0;
  for (int64_t i = 0; i < n; ++i)
    if (std::abs(x[i]) > std::abs(most)) most = x[i];
  return most;
}

template <class Tile>
uint16_t scale_for(int64_t n, const float* x) {
  const float plain = std::clamp(Format<Tile>::scale_of(largest(n, x)), -kLargestHalf, kLargestHalf);
  constexpr int kTried = Format<Tile>::kTried;
  if (kTried == 0) return to_float16(plain);
  uint16_t best = 0;
  double least_error = INFINITY;
  for (int i = -kTried; i <= kTried; ++i) {
    const uint16_t half = to_float16(plain * (1.0F + 0.025F * static_cast<float>(i)));
    const float scale = from_float16(half);
    double error = 0;  // squared
    for (int64_t c = 0; c < n; ++c)
      if (const double one = double{x[c]} - double{scale} * value_for<Tile>(x[c], scale); !std::isnan(one))
        error += one * one;
    if (error < least_error) {
      least_error = error;
      best = half;
    }
  }
  return best;
}

/// Rows (m, k) of x rounded to 8 bits, each padded to whole tiles.
class RoundedRows {
 public:
  RoundedRows(int64_t m, int64_t k, const float* x, int64_t ldx)
      : count_(tiles_of(k)),
        values_(static_cast<size_t>(m * count_ * kWeightColumns)),
        scales_(static_cast<size_t>(m * count_)),
        sums_(static_cast<size_t>(m * count_)) {
    const auto round = isa_loops<TileLoops>().round;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t t = 0; t < count_; ++t) {
        const int64_t at = i * count_ + t, first = t * kWeightColumns;
        round(std::min(kWeightColumns, k - first), x + i * ldx + first, values_.data() + at * kWeightColumns,
              scales_.data() + at, sums_.data() + at);
      }
  }

  RoundedRow row(int64_t i) const {
    return {values_.data() + i * count_ * kWeightColumns, scales_.data() + i * count_,
            sums_.data() + i * count_};
  }

 private:
  int64_t count_;
  std::vector<int8_t> values_;
  std::vector<float> scales_;
  std::vector<int32_t> sums_;
};

template <class Tile>
void to_tiles(int64_t rows, int64_t k, void* tiles, const float* x) {
  Tile* const out = static_cast<Tile*>(tiles);
  const int64_t across = tiles_of(k);
  parallel_for(ceil_div(rows, kWeightRows), grain_of(kConvertedAtATime, k * kWeightRows),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin * across; i < end * across; ++i)
                   for (int64_t r = 0; r < kWeightRows; ++r) {
                     const int64_t row = i / across * kWeightRows + r, first = i % across * kWeightColumns;
                     const int64_t n = row < rows ? std::min(kWeightColumns, k - first) : 0;
                     const float* const from = x + row * k + first;
                     out[i].scales[r] = scale_for<Tile>(n, from);
                     const float scale = from_float16(out[i].scales[r]);
                     for (int64_t c = 0; c < kWeightColumns; ++c)
                       Format<Tile>::put(out[i], c / 4, r, c % 4,
                                         c < n ? value_for<Tile>(from[c], scale) : 0);
                   }
               });
}

template <class Tile>
void from_tiles(int64_t begin, int64_t end, int64_t k, float* out, const void* tiles) {
  const auto* const x = static_cast<const Tile*>(tiles);
  for (int64_t row = begin; row < end; ++row)
    for (int64_t c = 0; c < k; ++c) {
      const Tile& tile = x[row / kWeightRows * tiles_of(k) + c / kWeightColumns];
      const int64_t r = row % kWeightRows, column = c % kWeightColumns;
      out[(row - begin) * k + c] = from_float16(tile.scales[r]) *
                                   static_cast<float>(Format<Tile>::get(tile, column / 4, r, column % 4));
    }
}

template <class Tile>
void quantized_linear(int64_t m, int64_t n, int64_t k, float* y, const float* x, int64_t ldx,
                      const void* tiles, const float* bias) {
  const auto* const w = static_cast<const Tile*>(tiles);
  if (m > kFewRows) {
    parallel_for(n, kWidenedRows, [&](int64_t begin, int64_t end) {
      std::vector<float> wide(static_cast<size_t>((end - begin) * k));
      from_tiles<Tile>(begin, end, k, wide.data(), w);
      for (int64_t i = 0; bias && i < m; ++i) std::copy_n(bias + begin, end - begin, y + i * n + begin);
      gemm_serial(Trans::no, Trans::yes, m, end - begin, k, x, ldx, wide.data(), k, y + begin, n,
                  bias != nullptr);
    });
    return;
  }
  const RoundedRows rounded(m, k, x, ldx);
  const int64_t count = tiles_of(k);
  const auto dots = isa_loops<TileLoops>().dots[tile_type(dtype_of<Tile>)];
  parallel_for(ceil_div(n, kWeightRows), grain_of(kSmallTileRead, kWeightRows * m * k),
               [&](int64_t begin, int64_t end) {
                 for (int64_t group = begin; group < end; ++group)
                   for (int64_t i = 0; i < m; ++i) {
                     float sums[kWeightRows];
                     dots(count, w + group * count, rounded.row(i), sums);
                     const int64_t first = group * kWeightRows;
                     for (int64_t r = 0; r < std::min(kWeightRows, n - first); ++r)
                       y[i * n + first + r] = sums[r] + (bias ? bias[first + r] : 0.0F);
                   }
               });
}

}  // namespace

#define GRADUS_TILE_KERNELS(dtype, Tile, word) {to_tiles<Tile>, from_tiles<Tile>, quantized_linear<Tile>},
const TileKernels kTileKernels[] = {GRADUS_TILES(GRADUS_TILE_KERNELS)};

}  // namespace gradus::kernels
