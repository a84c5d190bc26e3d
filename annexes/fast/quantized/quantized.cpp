#include "gradus/annexes/fast/quantized/quantized.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>
#include <vector>

#include "gradus/autograd/kernels/blas/choose_product.hpp"
#include "gradus/autograd/kernels/blas/gemm.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"

namespace gradus::kernels {
namespace {

constexpr int64_t kConvertedAtATime = 16384;  // numbers, on one thread
constexpr int64_t kSmallTileRead = int64_t{1}
                                   << 18;          // weights that one thread reads faster than it shares them
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

/// x must be finite.
float from_float16(uint16_t half) {
  const float magnitude = std::bit_cast<float>((half & 0x7FFFU) << 13) * 0x1p112F;
  return half & 0x8000U ? -magnitude : magnitude;
}

template <class Tile>
constexpr bool kIsQ4 = std::is_same_v<Tile, Q4Tile>;
template <class Tile>
constexpr int kLeast = kIsQ4<Tile> ? -8 : -127;
template <class Tile>
constexpr int kMost = kIsQ4<Tile> ? 7 : 127;

/// x / scale as the nearest value of a tile; 0 for NaN.
template <class Tile>
int value_for(float x, float scale) {
  if (std::isnan(x) || scale == 0) return 0;
  constexpr float kLow = kLeast<Tile>, kHigh = kMost<Tile>;
  return static_cast<int>(std::clamp(std::nearbyint(x / scale), kLow, kHigh));
}

/// The number of the largest magnitude; ignores NaN.
float largest(int64_t n, const float* x) {
  float most = 0;
  for (int64_t i = 0; i < n; ++i)
    if (std::abs(x[i]) > std::abs(most)) most = x[i];
  return most;
}

double squared_error_of_q4(int64_t n, const float* x, float scale) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double rounded = static_cast<double>(scale) * value_for<Q4Tile>(x[i], scale);
    const double error = static_cast<double>(x[i]) - rounded;
    if (!std::isnan(error)) sum += error * error;
  }
  return sum;
}

template <class Tile>
uint16_t scale_for(int64_t n, const float* x) {
  if constexpr (!kIsQ4<Tile>) return to_float16(std::abs(largest(n, x)) / 127.0F);
  constexpr int kTried = 8;  // on each side
  const float plain = std::clamp(largest(n, x) / -8.0F, -kLargestHalf, kLargestHalf);
  uint16_t best = 0;
  double least_error = INFINITY;
  for (int i = -kTried; i <= kTried; ++i) {
    const uint16_t half = to_float16(plain * (1.0F + 0.025F * static_cast<float>(i)));
    const double error = squared_error_of_q4(n, x, from_float16(half));
    if (error < least_error) {
      least_error = error;
      best = half;
    }
  }
  return best;
}

template <class Tile>
void put(Tile& tile, int64_t row, int64_t column, int value) {
  if constexpr (kIsQ4<Tile>) {
    uint8_t& both = tile.values[column / 4 % 4][row][column % 4];
    const int half = value + 8;
    both =
        static_cast<uint8_t>(column < kWeightColumns / 2 ? (both & 0xF0) | half : (both & 0x0F) | half << 4);
  } else {
    tile.values[column / 4][row][column % 4] = static_cast<int8_t>(value);
  }
}

template <class Tile>
int get(const Tile& tile, int64_t row, int64_t column) {
  if constexpr (!kIsQ4<Tile>) return tile.values[column / 4][row][column % 4];
  const int both = tile.values[column / 4 % 4][row][column % 4];
  return (column < kWeightColumns / 2 ? both & 15 : both >> 4) - 8;
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

}  // namespace

template <class Tile>
void to_tiles(int64_t rows, int64_t k, Tile* out, const float* x) {
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
                       put(out[i], r, c, c < n ? value_for<Tile>(from[c], scale) : 0);
                   }
               });
}

template <class Tile>
void from_tiles(int64_t begin, int64_t end, int64_t k, float* out, const Tile* x) {
  for (int64_t row = begin; row < end; ++row)
    for (int64_t c = 0; c < k; ++c) {
      const Tile& tile = x[row / kWeightRows * tiles_of(k) + c / kWeightColumns];
      const int64_t r = row % kWeightRows;
      out[(row - begin) * k + c] =
          from_float16(tile.scales[r]) * static_cast<float>(get(tile, r, c % kWeightColumns));
    }
}

template <class Tile>
void quantized_linear(int64_t m, int64_t n, int64_t k, float* y, const float* x, int64_t ldx, const Tile* w,
                      const float* bias) {
  if (m > kFewRows) {
    parallel_for(n, kWidenedRows, [&](int64_t begin, int64_t end) {
      std::vector<float> wide(static_cast<size_t>((end - begin) * k));
      from_tiles(begin, end, k, wide.data(), w);
      for (int64_t i = 0; bias && i < m; ++i) std::copy_n(bias + begin, end - begin, y + i * n + begin);
      gemm_serial(Trans::no, Trans::yes, m, end - begin, k, x, ldx, wide.data(), k, y + begin, n,
                  bias != nullptr);
    });
    return;
  }
  const RoundedRows rounded(m, k, x, ldx);
  const int64_t count = tiles_of(k);
  const auto dots = [] {
    if constexpr (kIsQ4<Tile>) return isa_loops<TileLoops>().q4;
    if constexpr (!kIsQ4<Tile>) return isa_loops<TileLoops>().q8;
  }();
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

#define GRADUS_INSTANTIATE(Tile)                                                                        \
  template void to_tiles(int64_t, int64_t, Tile*, const float*);                                        \
  template void from_tiles(int64_t, int64_t, int64_t, float*, const Tile*);                             \
  template void quantized_linear(int64_t, int64_t, int64_t, float*, const float*, int64_t, const Tile*, \
                                 const float*)
GRADUS_INSTANTIATE(Q8Tile);
GRADUS_INSTANTIATE(Q4Tile);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::kernels
