// Products in bfloat16 by AMX: 2 x 2 tiles of sums, two of left and two of right use all eight tiles.
#include <immintrin.h>

#include <algorithm>

#include "gradus/annexes/fast/bf16/bf16_product.hpp"

namespace gradus::kernels::amx {

// The shape of the tiles (Intel SDM, LDTILECFG): each of 16 rows of 64 bytes.
struct alignas(64) Configuration {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static constexpr Configuration configuration;

static void begin() { _tile_loadconfig(&configuration); }

static void end() { _tile_release(); }

// The intrinsics require literal numbers of tiles.
template <int kRows, int kColumns>
void multiply_tiles(const Bf16Tiles& b) {
  constexpr int kRowBytes = 64, kSide = 16;
  const int64_t start_bytes = b.start_stride * 4, out_bytes = b.out_stride * 4;
  const float *const start = b.start, *const start_below = start + kSide * b.start_stride;
  _tile_loadd(0, start, start_bytes);
  if constexpr (kColumns == 2) _tile_loadd(1, start + kSide, start_bytes);
  if constexpr (kRows == 2) _tile_loadd(2, start_below, start_bytes);
  if constexpr (kRows == 2 && kColumns == 2) _tile_loadd(3, start_below + kSide, start_bytes);
  const char *left = b.left.data, *right = b.right.data;
  constexpr int kOutRows = kRows * kSide;
  const int64_t rows_per_tile = (kOutRows + b.depth - 1) / b.depth;
  int64_t row = 0;
  for (int64_t tile = 0; tile < b.depth; ++tile, left += b.left.tile_step, right += b.right.tile_step) {
    // Prefetches the output meanwhile, so that the stores do not wait for its 64 lines.
    for (const int64_t end = std::min<int64_t>(row + rows_per_tile, kOutRows); row < end; ++row)
      for (int column = 0; column < kColumns; ++column)
        __builtin_prefetch(b.out + row * b.out_stride + column * kSide, 1);
    _tile_loadd(6, right, kRowBytes);
    _tile_loadd(4, left, kRowBytes);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (kColumns == 2) {
      _tile_loadd(7, right + b.right.strip_step, kRowBytes);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (kRows == 2) {
      _tile_loadd(5, left + b.left.strip_step, kRowBytes);
      _tile_dpbf16ps(2, 5, 6);
      if constexpr (kColumns == 2) _tile_dpbf16ps(3, 5, 7);
    }
  }
  float *const out = b.out, *const out_below = out + kSide * b.out_stride;
  _tile_stored(0, out, out_bytes);
  if constexpr (kColumns == 2) _tile_stored(1, out + kSide, out_bytes);
  if constexpr (kRows == 2) _tile_stored(2, out_below, out_bytes);
  if constexpr (kRows == 2 && kColumns == 2) _tile_stored(3, out_below + kSide, out_bytes);
}

static void multiply(const Bf16Tiles& b) {
  if (b.rows == 2) return b.columns == 2 ? multiply_tiles<2, 2>(b) : multiply_tiles<2, 1>(b);
  return b.columns == 2 ? multiply_tiles<1, 2>(b) : multiply_tiles<1, 1>(b);
}

const Bf16Kernel kernel = {.rows = 2,
                           .columns = 2,
                           .depth = 12,
                           .panel = 64,  // 768 KiB; a processor with AMX has two MiB
                           .multiply = multiply,
                           .begin = begin,
                           .end = end};

}  // namespace gradus::kernels::amx
