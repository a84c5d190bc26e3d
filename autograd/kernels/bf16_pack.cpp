#include "gradus/autograd/kernels/bf16_pack.hpp"

#include <algorithm>

#include "gradus/autograd/kernels/level.hpp"
#include "gradus/autograd/kernels/parallel.hpp"
#include "gradus/files/error.hpp"

namespace gradus::kernels {

namespace {

constexpr int64_t kPackBlock = int64_t{1} << 16;  // elements that one thread packs sooner than it could share

PackTiles<float> loop_for(const float*, bool across, bool transposed) {
  return level_loops<PackLoops>().of_float[across][transposed];
}
PackTiles<bfloat16> loop_for(const bfloat16*, bool across, bool transposed) {
  return level_loops<PackLoops>().of_bfloat16[across][transposed];
}

/// A matrix as packing walks through it: by bands of its rows, which memory is read fastest along. A band is
/// a strip, or with rows that are k a tile of each strip.
template <class T>
struct Source {
  const T* x;
  int64_t ldx;
  bool across;  // rows are k
  int64_t rows, columns;
  int64_t out_depth;  // of a strip, in tiles
  PackTiles<T> pack_tiles;

  int64_t band_rows() const { return across ? kTileDepth : kStrip; }
  int64_t tile_columns() const { return across ? kStrip : kTileDepth; }
  int64_t out_step() const { return across ? out_depth * kTileElements : kTileElements; }
  int64_t bands() const { return (rows + band_rows() - 1) / band_rows(); }

  void pack_band(int64_t band, bfloat16* out) const {
    const int64_t first = band * band_rows(), high = std::min(band_rows(), rows - first);
    const int64_t whole = high == band_rows() ? columns / tile_columns() : 0;
    const T* const from = x + first * ldx;
    out += band * (across ? kTileElements : out_depth * kTileElements);
    if (whole > 0) pack_tiles(whole, from, ldx, tile_columns(), out, out_step());
    for (int64_t tile = whole, j = whole * tile_columns(); j < columns; ++tile, j += tile_columns())
      pack_part(from + j, high, std::min(tile_columns(), columns - j), out + tile * out_step());
  }

  /// A tile that reaches over the edge.
  void pack_part(const T* from, int64_t high, int64_t wide, bfloat16* out) const {
    T padded[kTileElements] = {};
    for (int64_t i = 0; i < high; ++i) std::copy_n(from + i * ldx, wide, padded + i * tile_columns());
    pack_tiles(1, padded, tile_columns(), 0, out, 0);
  }
};

template <class T>
void pack_any(Trans trans, const T* x, int64_t ldx, PackedBf16& out) {
  const bool left = out.side == Side::left, across = left == (trans == Trans::yes);
  const Source<T> source{x,
                         ldx,
                         across,
                         trans == Trans::yes ? out.columns : out.rows,
                         trans == Trans::yes ? out.rows : out.columns,
                         out.depth(),
                         loop_for(x, across, left == across)};
  const int64_t band = std::max<int64_t>(1, source.columns * source.band_rows());
  parallel_for(source.bands(), std::max<int64_t>(1, kPackBlock / band), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) source.pack_band(i, out.tiles);
  });
}

}  // namespace

int64_t packed_bytes(Side side, int64_t rows, int64_t columns) {
  PackedBf16 sizes;
  sizes.side = side;
  sizes.rows = rows;
  sizes.columns = columns;
  return sizes.strips() * sizes.depth() * kTileElements * static_cast<int64_t>(sizeof(bfloat16));
}

PackedBf16 packed_matrix(Side side, int64_t rows, int64_t columns, void* memory) {
  if (rows < 0 || columns < 0)
    fail("pack", "needs sizes that are not negative, got (", rows, ", ", columns, ").");
  PackedBf16 packed;
  packed.side = side;
  packed.rows = rows;
  packed.columns = columns;
  packed.tiles = static_cast<bfloat16*>(memory);
  return packed;
}

PackedBf16 packed_matrix(Side side, int64_t rows, int64_t columns) {
  PackedBf16 packed = packed_matrix(side, rows, columns, nullptr);
  packed.owned = allocate_lines(packed_bytes(side, rows, columns));
  packed.tiles = static_cast<bfloat16*>(packed.owned.get());
  return packed;
}

void pack(Trans trans, const float* x, int64_t ldx, PackedBf16& out) { pack_any(trans, x, ldx, out); }

void pack(Trans trans, const bfloat16* x, int64_t ldx, PackedBf16& out) { pack_any(trans, x, ldx, out); }

}  // namespace gradus::kernels
