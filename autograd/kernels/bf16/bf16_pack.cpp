#include "gradus/autograd/kernels/bf16/bf16_pack.hpp"

#include <algorithm>
#include <vector>

#include "gradus/autograd/kernels/elementwise/reduce.hpp"
#include "gradus/autograd/kernels/elementwise/swiglu.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"
#include "gradus/files/error.hpp"

namespace gradus::kernels {

namespace {

constexpr int64_t kPackBlock = int64_t{1} << 16;  // elements that one thread packs sooner than it could share
// Whole rows, whose sources are then read in order; kTileDepth rows take at most 256 KiB.
constexpr int64_t kMadeColumns = 2048, kReadColumns = 256;
// Operands that the second cache would not keep go past it: memory that is written is then not read before.
constexpr int64_t kStreamedBytes = int64_t{1} << 21;

bool is_streamed(const PackedBf16& x) { return packed_bytes(x.side, x.rows, x.columns) >= kStreamedBytes; }

PackTiles loop_for(bool across, bool transposed) { return isa_loops<PackLoops>().tiles[across][transposed]; }

/// A matrix as packing walks through it: by bands of its rows, which memory is read fastest along. A band is
/// a strip, or with rows that are k a tile of each strip.
struct Source {
  const float* x;
  int64_t ldx;
  bool across;  // rows are k
  int64_t rows, columns;
  int64_t out_depth;  // of a strip, in tiles
  bool streamed;
  PackTiles pack_tiles;

  int64_t band_rows() const { return across ? kTileDepth : kStrip; }
  int64_t tile_columns() const { return across ? kStrip : kTileDepth; }
  int64_t out_step() const { return across ? out_depth * kTileElements : kTileElements; }
  int64_t bands() const { return parts_of(rows, band_rows()); }

  void pack_band(int64_t band, bfloat16* out) const {
    const int64_t first = band * band_rows(), high = std::min(band_rows(), rows - first);
    const int64_t whole = high == band_rows() ? columns / tile_columns() : 0;
    const float* const from = x + first * ldx;
    out += band * (across ? kTileElements : out_depth * kTileElements);
    if (whole > 0) pack_tiles(whole, from, ldx, tile_columns(), out, out_step(), streamed);
    for (int64_t tile = whole, j = whole * tile_columns(); j < columns; ++tile, j += tile_columns())
      pack_part(from + j, high, std::min(tile_columns(), columns - j), out + tile * out_step());
  }

  /// A tile that reaches over the edge.
  void pack_part(const float* from, int64_t high, int64_t wide, bfloat16* out) const {
    float padded[kTileElements] = {};
    for (int64_t i = 0; i < high; ++i) std::copy_n(from + i * ldx, wide, padded + i * tile_columns());
    pack_tiles(1, padded, tile_columns(), 0, out, 0, false);
  }
};

/// Packs rows [row, row + rows) x columns [column, column + columns) of op(x) = out, which are those of
/// `block`, from the beginning of a tile on.
void pack_block(Trans trans, const float* block, int64_t step, int64_t row, int64_t rows, int64_t column,
                int64_t columns, PackedBf16& out) {
  const bool left = out.side == Side::left, across = left == (trans == Trans::yes);
  const Source source{block,   step,        across,           rows,
                      columns, out.depth(), is_streamed(out), loop_for(across, left == across)};
  const int64_t strip = (across ? column : row) / kStrip, depth = (across ? row : column) / kTileDepth;
  for (int64_t band = 0; band < source.bands(); ++band)
    source.pack_band(band, out.tiles + (strip * out.depth() + depth) * kTileElements);
}

/// Bands of kTileDepth rows, for any thread.
class RowPacking {
 public:
  RowPacking(const RowBlocks& from, const PackedRows& to)
      : from_(from), to_(to), sums_(static_cast<size_t>(to.sums ? bands() * from.columns : 0)) {
    const int64_t pieces = std::max<int64_t>(1, parts_of(from.columns, from.x ? kReadColumns : kMadeColumns));
    step_ = parts_of(parts_of(from.columns, pieces), kTileDepth) * kTileDepth;
  }

  int64_t bands() const { return parts_of(from_.rows, kTileDepth); }

  void pack_band(int64_t band) {
    const int64_t row = band * kTileDepth, high = std::min(kTileDepth, from_.rows - row);
    for (int64_t column = 0; column < from_.columns; column += step_) {
      const int64_t wide = std::min(step_, from_.columns - column);
      const auto [block, step] = block_at(row, high, column, wide);
      if (to_.left) pack_block(Trans::no, block, step, row, high, column, wide, *to_.left);
      if (to_.right) pack_block(Trans::no, block, step, row, high, column, wide, *to_.right);
      if (to_.transposed) pack_block(Trans::yes, block, step, row, high, column, wide, *to_.transposed);
      if (to_.sums)
        isa_loops<ReduceLoops<float>>().fold_rows[static_cast<int>(Reduce::sum)](
            high, wide, sums_.data() + band * from_.columns + column, block, step);
    }
  }

  void finish() const {
    if (!to_.sums) return;
    Loop<2> kept{.dims = 1, .size = {from_.columns}, .stride = {{1}, {1}}};
    Loop<1> reduced{.dims = 1, .size = {bands()}, .stride = {{from_.columns}}};
    reduce(Reduce::sum, kept, reduced, to_.sums, sums_.data());
  }

 private:
  struct Block {
    const float* values;
    int64_t step;
  };
  Block block_at(int64_t row, int64_t rows, int64_t column, int64_t columns) const {
    if (from_.x) return {from_.x + row * from_.ldx + column, from_.ldx};
    static thread_local Scratch scratch;
    auto* const made =
        static_cast<float*>(scratch.of(kTileDepth * step_ * static_cast<int64_t>(sizeof(float))));
    from_.make(from_.context, row, rows, column, columns, made, step_);
    return {made, step_};
  }

  const RowBlocks& from_;
  const PackedRows& to_;
  std::vector<float> sums_;  // of each band
  int64_t step_;             // columns that are a block
};

void check_form(const char* name, const PackedBf16* form, Side side, int64_t rows, int64_t columns) {
  if (form && (form->side != side || form->rows != rows || form->columns != columns))
    fail("pack", "needs a ", name, " form (", rows, ", ", columns, "), got (", form->rows, ", ",
         form->columns, ")", form->side == side ? "." : " of the other side.");
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
  packed.owned = allocate_aligned(packed_bytes(side, rows, columns));
  packed.tiles = static_cast<bfloat16*>(packed.owned.get());
  return packed;
}

void pack(Trans trans, const float* x, int64_t ldx, PackedBf16& out) {
  const bool left = out.side == Side::left, across = left == (trans == Trans::yes);
  const Source source{x,
                      ldx,
                      across,
                      trans == Trans::yes ? out.columns : out.rows,
                      trans == Trans::yes ? out.rows : out.columns,
                      out.depth(),
                      is_streamed(out),
                      loop_for(across, left == across)};
  const int64_t band = std::max<int64_t>(1, source.columns * source.band_rows());
  parallel_for(source.bands(), std::max<int64_t>(1, kPackBlock / band), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) source.pack_band(i, out.tiles);
  });
}

void pack_rows(const RowBlocks& from, const PackedRows& to) {
  check_form("left", to.left, Side::left, from.rows, from.columns);
  check_form("right", to.right, Side::right, from.rows, from.columns);
  check_form("transposed", to.transposed, Side::left, from.columns, from.rows);
  RowPacking packing(from, to);
  const int64_t band = std::max<int64_t>(1, from.columns * kTileDepth);
  parallel_for(packing.bands(), std::max<int64_t>(1, kPackBlock / band), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) packing.pack_band(i);
  });
  packing.finish();
}

namespace {

struct ActivatedRows {
  const Activation& of;
  int64_t columns;

  static void make(const void* context, int64_t row, int64_t rows, int64_t column, int64_t columns,
                   float* out, int64_t out_step) {
    const auto& [of, all_columns] = *static_cast<const ActivatedRows*>(context);
    for (int64_t i = 0; i < rows; ++i, out += out_step) {
      const int64_t at = (row + i) * all_columns + column;
      if (of.up)
        isa_loops<SwigluLoops<float>>().forward(columns, out, of.x + at, of.up + at);
      else
        isa_loops<ElementwiseLoops<float>>().unary[static_cast<int>(of.unary)](columns, out, of.x + at);
    }
  }
};

}  // namespace

void pack_activation(const Activation& activation, int64_t rows, int64_t columns, const PackedRows& to) {
  const ActivatedRows made{activation, columns};
  pack_rows({.rows = rows, .columns = columns, .make = ActivatedRows::make, .context = &made}, to);
}

}  // namespace gradus::kernels
