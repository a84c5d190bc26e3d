// Products with weights of 8 or 4 bits, in tiles (autograd/tensor/tiles.hpp).
#pragma once

#include <cstdint>

#include "gradus/autograd/tensor/tiles.hpp"

namespace gradus::kernels {

/// Quantizes a matrix x (rows, k). q8: the largest number of 32 becomes +-127. q4: tries scales near the one
/// that makes the largest -8, and takes the one with the least squared error. NaN becomes 0; scales are at
/// most 65504.
template <class Tile>
void to_tiles(int64_t rows, int64_t k, Tile* out, const float* x);

/// The values of rows [begin, end), (end - begin, k).
template <class Tile>
void from_tiles(int64_t begin, int64_t end, int64_t k, float* out, const Tile* x);

/// A row of numbers rounded to 8 bits: of every 32 the values, their scale and their sum.
struct RoundedRow {
  const int8_t* values;
  const float* scales;
  const int32_t* sums;
};

struct TileLoops {
  /// Rounds n numbers, at most a tile's columns, which share a scale: their values, scale and sum. If one is
  /// not finite, the scale is NaN.
  void (*round)(int64_t n, const float* x, int8_t* values, float* scale, int32_t* sum);
  // y[r] = the dot product of row r of `count` tiles along a row with x.
  void (*q8)(int64_t count, const Q8Tile* tiles, RoundedRow x, float* y);
  void (*q4)(int64_t count, const Q4Tile* tiles, RoundedRow x, float* y);
};

/// y (m, n) = x (m, k) @ w (n, k)^T + bias (n) in float32; rows of x are ldx apart, bias may be nullptr. Up
/// to kFewRows rows of x are rounded to 8 bits like weights, with scales in float32; the bits of a row then
/// do not depend on the other rows. For more rows, pieces of the weights are converted to float32.
template <class Tile>
void quantized_linear(int64_t m, int64_t n, int64_t k, float* y, const float* x, int64_t ldx, const Tile* w,
                      const float* bias);

}  // namespace gradus::kernels
