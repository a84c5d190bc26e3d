// Weights of 8 or 4 bits, for generating a token in the time of reading a quarter or a seventh of the memory:
// along a row, 32 numbers share a scale, as in GGUF's Q8_0 and Q4_0. They lie in tiles of 16 rows x 32
// columns, four columns of a row side by side, as the instructions for sums of four products want them; rows
// and columns beyond the matrix are zeros.
#pragma once

#include <cstdint>

namespace gradus {

inline constexpr int64_t kWeightRows = 16, kWeightColumns = 32;  ///< of a tile

/// Row r, column c is scales[r] (a float16) * values[c / 4][r][c % 4].
struct Q8Tile {
  uint16_t scales[kWeightRows];
  int8_t values[8][kWeightRows][4];
};

/// scales[r] * (a half of values[c / 4 % 4][r][c % 4] - 8), the lower half for c < 16.
struct Q4Tile {
  uint16_t scales[kWeightRows];
  uint8_t values[4][kWeightRows][4];
};

/// Tiles side by side along rows of k numbers.
constexpr int64_t tiles_of(int64_t k) { return (k + kWeightColumns - 1) / kWeightColumns; }

}  // namespace gradus

namespace gradus::kernels {

/// Rounds a matrix x (rows, k). q8: the largest number of 32 becomes +-127. q4: of some scales about that by
/// which the largest becomes -8, the one that leaves the least squared error. NaN becomes 0; scales are at
/// most 65504.
template <class Tile>
void to_tiles(int64_t rows, int64_t k, Tile* out, const float* x);

/// The numbers that rows [begin, end) stand for, (end - begin, k).
template <class Tile>
void from_tiles(int64_t begin, int64_t end, int64_t k, float* out, const Tile* x);

/// A row of numbers rounded to 8 bits: of every 32 the values, their scale and their sum.
struct RoundedRow {
  const int8_t* values;
  const float* scales;
  const int32_t* sums;
};

/// y[r] = the sum of products of 16 rows of weights, `count` tiles side by side, with a row x.
struct TileLoops {
  void (*q8)(int64_t count, const Q8Tile* tiles, RoundedRow x, float* y);
  void (*q4)(int64_t count, const Q4Tile* tiles, RoundedRow x, float* y);
};

/// y (m, n) = x (m, k) @ w (n, k)^T + bias (n) in float32; rows of x are ldx apart, bias may be nullptr. Up
/// to kFewRows rows of x are rounded to 8 bits as weights are, with scales in float32, and sums of 32
/// products are whole numbers. For more rows the weights are widened, a piece at a time, and multiplied in
/// float32. The bits do not depend on the number of threads, nor, of a row among few, on the others.
template <class Tile>
void quantized_linear(int64_t m, int64_t n, int64_t k, float* y, const float* x, int64_t ldx, const Tile* w,
                      const float* bias);

}  // namespace gradus::kernels
