// Weights of 8 or 4 bits: generating a token reads a quarter or a seventh of the memory. 32 numbers of a row
// share a scale, as in GGUF's Q8_0 and Q4_0. Tiles of 16 rows x 32 columns have four columns of a row
// together, as instructions for sums of four products require; rows and columns beyond the matrix are zeros.
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

/// The number of tiles along rows of k numbers.
constexpr int64_t tiles_of(int64_t k) { return (k + kWeightColumns - 1) / kWeightColumns; }

}  // namespace gradus
