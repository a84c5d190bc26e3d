#include "gradus/autograd/kernels/quantized/quantized.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "gradus/autograd/kernels/threads/parallel.hpp"

namespace gradus::kernels {
namespace {

constexpr int64_t kConvertedAtATime = 16384;  // numbers, on one thread
constexpr float kLargestHalf = 65504.0F;

/// Rounds to the nearest, to even at half; clamps to finite values.
uint16_t to_float16(float x) {
  const float size = std::min(std::abs(x), kLargestHalf);
  // Below 2^-14 numbers are 2^-24 apart; above, the last 13 bits of a float32 go.
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

/// x / scale to the nearest whole number in [least, most]; 0 for NaN.
int whole(float x, float scale, int least, int most) {
  if (std::isnan(x) || scale == 0) return 0;
  return static_cast<int>(
      std::clamp(std::nearbyint(x / scale), static_cast<float>(least), static_cast<float>(most)));
}

/// The number of the largest size; NaN does not count.
float largest(int64_t n, const float* x) {
  float most = 0;
  for (int64_t i = 0; i < n; ++i)
    if (std::abs(x[i]) > std::abs(most)) most = x[i];
  return most;
}

double squared_error(int64_t n, const float* x, float scale) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double apart = static_cast<double>(x[i]) - static_cast<double>(scale) * whole(x[i], scale, -8, 7);
    if (!std::isnan(apart)) sum += apart * apart;
  }
  return sum;
}

// One row's part of a tile: how its scale is found, and a value put or got.
void put(Q8Tile& tile, int64_t row, int64_t column, int value) {
  tile.values[column / 4][row][column % 4] = static_cast<int8_t>(value);
}
int get(const Q8Tile& tile, int64_t row, int64_t column) { return tile.values[column / 4][row][column % 4]; }
uint16_t scale_for(const Q8Tile&, int64_t n, const float* x) {
  return to_float16(std::abs(largest(n, x)) / 127.0F);
}
constexpr int least(const Q8Tile&) { return -127; }
constexpr int most(const Q8Tile&) { return 127; }

void put(Q4Tile& tile, int64_t row, int64_t column, int value) {
  uint8_t& both = tile.values[column / 4 % 4][row][column % 4];
  const int half = value + 8;
  both = static_cast<uint8_t>(column < kWeightColumns / 2 ? (both & 0xF0) | half : (both & 0x0F) | half << 4);
}
int get(const Q4Tile& tile, int64_t row, int64_t column) {
  const int both = tile.values[column / 4 % 4][row][column % 4];
  return (column < kWeightColumns / 2 ? both & 15 : both >> 4) - 8;
}
uint16_t scale_for(const Q4Tile&, int64_t n, const float* x) {
  constexpr int kTried = 8;  // on each side
  const float plain = std::clamp(largest(n, x) / -8.0F, -kLargestHalf, kLargestHalf);
  uint16_t best = 0;
  double least_error = INFINITY;
  for (int step = -kTried; step <= kTried; ++step) {
    const uint16_t half = to_float16(plain * (1.0F + 0.025F * static_cast<float>(step)));
    const double error = squared_error(n, x, from_float16(half));
    if (error < least_error) {
      least_error = error;
      best = half;
    }
  }
  return best;
}
constexpr int least(const Q4Tile&) { return -8; }
constexpr int most(const Q4Tile&) { return 7; }

template <class Tile>
void to_tile(Tile& tile, int64_t row, int64_t n, const float* x) {
  tile.scales[row] = scale_for(tile, n, x);
  const float scale = from_float16(tile.scales[row]);
  for (int64_t c = 0; c < kWeightColumns; ++c)
    put(tile, row, c, c < n ? whole(x[c], scale, least(tile), most(tile)) : 0);
}

}  // namespace

template <class Tile>
void to_tiles(int64_t rows, int64_t k, Tile* out, const float* x) {
  const int64_t side = tiles_of(k), groups = (rows + kWeightRows - 1) / kWeightRows;
  const int64_t grain = std::max<int64_t>(1, kConvertedAtATime / std::max<int64_t>(1, k * kWeightRows));
  parallel_for(groups, grain, [&](int64_t begin, int64_t end) {
    for (int64_t group = begin; group < end; ++group)
      for (int64_t t = 0; t < side; ++t)
        for (int64_t r = 0; r < kWeightRows; ++r) {
          const int64_t row = group * kWeightRows + r, first = t * kWeightColumns;
          to_tile(out[group * side + t], r, row < rows ? std::min(kWeightColumns, k - first) : 0,
                  x + row * k + first);
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

template void to_tiles(int64_t, int64_t, Q8Tile*, const float*);
template void to_tiles(int64_t, int64_t, Q4Tile*, const float*);
template void from_tiles(int64_t, int64_t, int64_t, float*, const Q8Tile*);
template void from_tiles(int64_t, int64_t, int64_t, float*, const Q4Tile*);

}  // namespace gradus::kernels
