// Weights of 8 or 4 bits: generating a token reads a quarter or a seventh of the memory. 32 numbers of a row
// share a scale, as in GGUF's Q8_0 and Q4_0. Tiles of 16 rows x 32 columns have four columns of a row
// together, as instructions for sums of four products require; rows and columns beyond the matrix are zeros.
#pragma once

#include <cstdint>

namespace gradus {

inline constexpr int64_t kWeightRows = 16;     ///< of a tile
inline constexpr int64_t kWeightColumns = 32;  ///< of a tile

/// 8 bits.
struct Q8Tile {
  uint16_t scales[kWeightRows];      ///< float16
  int8_t values[8][kWeightRows][4];  ///< row r, column c is scales[r] * values[c / 4][r][c % 4]
};

/// 4 bits.
struct Q4Tile {
  uint16_t scales[kWeightRows];       ///< float16
  uint8_t values[4][kWeightRows][4];  ///< half of values[c / 4 % 4][r][c % 4], the lower for c < 16, minus 8
};

/// A row for each type: the dtype, the tile, and the word for it in --weights. All the rest follows from
/// them, and from how annexes/fast/quantized/formats.hpp computes with a tile.
#define GRADUS_TILES(ROW)   \
  ROW(q8_0, Q8Tile, "int8") \
  ROW(q4_0, Q4Tile, "int4")

/// The number of tiles along rows of k numbers.
constexpr int64_t tiles_of(int64_t k) { return (k + kWeightColumns - 1) / kWeightColumns; }

}  // namespace gradus
