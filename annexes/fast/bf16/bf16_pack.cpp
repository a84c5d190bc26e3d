#include "gradus/annexes/fast/bf16/bf16_pack.hpp"

#include <algorithm>

#include "gradus/autograd/kernels/elementwise/elementwise.hpp"
#include "gradus/autograd/kernels/elementwise/reduce.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"
#include "gradus/files/error.hpp"

namespace gradus::kernels {
namespace {

// Elements that take one thread less time than sharing, and those that a thread takes at a time of more.
constexpr int64_t kSmallPacking = int64_t{1} << 16, kPackingChunk = int64_t{1} << 14;
// Whole rows are read in order; kTileDepth rows take at most 256 KiB.
constexpr int64_t kMadeColumns = 2048, kReadColumns = 256;
// Packing prefetches the next band of up to kNarrow columns, and of wider ones this many columns ahead.
constexpr int64_t kNarrow = 512, kColumnsAhead = 64;
// Operands that are too large for the second-level cache bypass it.
constexpr int64_t kStreamedBytes = int64_t{1} << 21;

/// Processors with a unit also round, which takes subnormal numbers as 0, as their products do.
const PackLoops& pack_loops() {
#if defined(GRADUS_HAS_AVX512_BF16)
  static const bool rounds = std::ranges::count(available_isas<Bf16Unit>(), Bf16Unit::avx512_bf16) > 0;
  if (rounds && isa_in_use<Bf16Unit>() != Bf16Unit::widened) return avx512_bf16::pack_loops;
#endif
  return isa_loops<PackLoops>();
}

/// Calls pack_band(i) for each band of that many elements.
template <class F>
void for_each_band(int64_t bands, int64_t elements, const F& pack_band) {
  const int64_t chunk = bands * elements <= kSmallPacking ? kSmallPacking : kPackingChunk;
  parallel_for(bands, grain_of(chunk, elements), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) pack_band(i);
  });
}

/// Packs x, with op(x) a part of `out`, by bands of rows, which memory reads fastest. A band is a strip, or
/// if rows are k a tile of each strip.
class BandPacker {
 public:
  BandPacker(Trans trans, const float* x, int64_t ldx, int64_t rows, int64_t columns, const PackedBf16& out)
      : x_(x),
        ldx_(ldx),
        rows_(rows),
        columns_(columns),
        across_((out.side == Side::left) == (trans == Trans::yes)),
        row_step_((across_ ? out.tile_step : out.strip_step) * kTileElements),
        column_step_((across_ ? out.strip_step : out.tile_step) * kTileElements),
        ahead_(columns <= kNarrow ? band_rows() * ldx : kColumnsAhead),
        streamed_(packed_bytes(out.side, out.rows, out.columns) >= kStreamedBytes),
        pack_tiles_(pack_loops().tiles[across_][(out.side == Side::left) == across_]) {}

  int64_t band_rows() const { return across_ ? kTileDepth : kStrip; }
  int64_t bands() const { return ceil_div(rows_, band_rows()); }

  /// The place in `out`, in elements, of the tile with that element of x.
  int64_t place(int64_t row, int64_t column) const {
    return row / band_rows() * row_step_ + column / tile_columns() * column_step_;
  }

  /// out: the place of x.
  void pack_band(int64_t band, bfloat16* out) const {
    const int64_t first = band * band_rows(), high = std::min(band_rows(), rows_ - first);
    const int64_t wide = tile_columns(), whole = high == band_rows() ? columns_ / wide : 0;
    const float* const from = x_ + first * ldx_;
    out += band * row_step_;
    if (whole > 0) pack_tiles_(whole, from, ldx_, wide, ahead_, out, column_step_, streamed_);
    for (int64_t tile = whole, j = whole * wide; j < columns_; ++tile, j += wide) {  // at the edges
      float padded[kTileElements] = {};
      for (int64_t i = 0; i < high; ++i)
        std::copy_n(from + j + i * ldx_, std::min(wide, columns_ - j), padded + i * wide);
      pack_tiles_(1, padded, wide, 0, 0, out + tile * column_step_, 0, false);
    }
  }

 private:
  int64_t tile_columns() const { return across_ ? kStrip : kTileDepth; }

  const float* x_;
  int64_t ldx_, rows_, columns_;
  bool across_;                     // rows of x are k
  int64_t row_step_, column_step_;  // from tile to tile in `out`, in elements
  int64_t ahead_;                   // from an element to the one that is prefetched with it
  bool streamed_;
  PackTiles pack_tiles_;
};

void check_form(const char* name, const PackedBf16* form, Side side, int64_t rows, int64_t columns) {
  if (form && (form->side != side || form->rows != rows || form->columns != columns))
    fail("pack", "needs a ", name, " form (", rows, ", ", columns, "), got (", form->rows, ", ",
         form->columns, ")", form->side == side ? "." : " of the other side.");
}

}  // namespace

PackedBf16 packed_matrix(Side side, int64_t rows, int64_t columns, void* memory) {
  if (rows < 0 || columns < 0)
    fail("pack", "needs sizes that are not negative, got (", rows, ", ", columns, ").");
  PackedBf16 packed{side, rows, columns, static_cast<bfloat16*>(memory)};
  const bool is_deep = packed.depth() >= std::max(kDeep, packed.strips());
  packed.strip_step = is_deep ? 1 : packed.depth();
  packed.tile_step = is_deep ? packed.strips() | 1 : 1;  // odd, so that a strip uses all sets of a cache
  return packed;
}

int64_t packed_bytes(Side side, int64_t rows, int64_t columns) {
  const PackedBf16 packed = packed_matrix(side, rows, columns, nullptr);
  return std::max(packed.strips() * packed.strip_step, packed.depth() * packed.tile_step) * kTileElements *
         static_cast<int64_t>(sizeof(bfloat16));
}

PackedBf16 packed_matrix(Side side, int64_t rows, int64_t columns) {
  PackedBf16 packed = packed_matrix(side, rows, columns, nullptr);
  packed.owned = allocate_aligned(packed_bytes(side, rows, columns));
  packed.tiles = static_cast<bfloat16*>(packed.owned.get());
  return packed;
}

void pack(Trans trans, const float* x, int64_t ldx, PackedBf16& out) {
  const int64_t rows = trans == Trans::yes ? out.columns : out.rows;
  const int64_t columns = trans == Trans::yes ? out.rows : out.columns;
  const BandPacker packer(trans, x, ldx, rows, columns, out);
  for_each_band(packer.bands(), columns * packer.band_rows(),
                [&](int64_t i) { packer.pack_band(i, out.tiles); });
}

RowPacking::RowPacking(const RowSource& from, const PackedRows& to)
    : from_(from), to_(to), sums_(static_cast<size_t>(to.sums ? bands() * from.columns : 0)) {
  check_form("left", to.left, Side::left, from.rows, from.columns);
  check_form("right", to.right, Side::right, from.rows, from.columns);
  if (to.transposed) check_form("transposed", to.transposed, to.transposed->side, from.columns, from.rows);
  const int64_t chunks = std::max<int64_t>(1, ceil_div(from.columns, from.x ? kReadColumns : kMadeColumns));
  chunk_ = ceil_div(ceil_div(from.columns, chunks), kTileDepth) * kTileDepth;
}

void RowPacking::pack_band(int64_t band, const PackedBf16* left, int64_t first_band) {
  static thread_local Scratch scratch;
  const int64_t row = band * kTileDepth, high = std::min(kTileDepth, from_.rows - row);
  for (int64_t column = 0; column < from_.columns; column += chunk_) {
    const int64_t wide = std::min(chunk_, from_.columns - column);
    const float* x = nullptr;
    int64_t ldx = chunk_;
    if (from_.x) {
      x = from_.x + row * from_.ldx + column;
      ldx = from_.ldx;
    } else {
      const int64_t bytes = kTileDepth * chunk_ * static_cast<int64_t>(sizeof(float));
      auto* const made = static_cast<float*>(scratch.of(bytes));
      from_.make(row, high, column, wide, made, chunk_);
      x = made;
    }
    const auto pack = [&](Trans trans, const PackedBf16* out, int64_t first_row) {
      if (!out) return;
      const BandPacker packer(trans, x, ldx, high, wide, *out);
      for (int64_t i = 0; i < packer.bands(); ++i)
        packer.pack_band(i, out->tiles + packer.place(row - first_row, column));
    };
    pack(Trans::no, left, first_band * kTileDepth);
    pack(Trans::no, to_.right, 0);
    pack(Trans::yes, to_.transposed, 0);
    if (to_.sums)
      isa_loops<ReduceLoops<float>>().fold_rows[static_cast<int>(Reduce::sum)](
          high, wide, sums_.data() + band * from_.columns + column, x, ldx);
  }
}

void RowPacking::finish() const {
  if (!to_.sums) return;
  Loop<2> kept{.dims = 1, .size = {from_.columns}, .stride = {{1}, {1}}};
  Loop<1> reduced{.dims = 1, .size = {bands()}, .stride = {{from_.columns}}};
  reduce(Reduce::sum, kept, reduced, to_.sums, sums_.data());
}

void pack_rows(const RowSource& from, const PackedRows& to) {
  RowPacking packing(from, to);
  for_each_band(packing.bands(), from.columns * kTileDepth,
                [&](int64_t i) { packing.pack_band(i, to.left, 0); });
  packing.finish();
}

RowSource values_of(const Activation& of, int64_t rows, int64_t columns) {
  const auto make = [of, columns](int64_t row, int64_t high, int64_t column, int64_t wide, float* out,
                                  int64_t out_stride) {
    for (int64_t i = 0; i < high; ++i) {
      const int64_t at = (row + i) * columns + column;
      if (of.up)
        isa_loops<SwigluLoops<float>>().forward(wide, out + i * out_stride, of.x + at, of.up + at);
      else
        isa_loops<ElementwiseLoops<float>>().unary[static_cast<int>(of.unary)](wide, out + i * out_stride,
                                                                               of.x + at);
    }
  };
  return {.rows = rows, .columns = columns, .make = make};
}

}  // namespace gradus::kernels
