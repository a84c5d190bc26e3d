// Packed operands of products in bfloat16: rounded, and in the tiles of matrix units. The format is the same
// for all instruction sets; those whose products take subnormal numbers as 0 may round them to 0.
//
// A left operand (m, k) is cut into tiles of 16 rows x 32 k, row by row; a right one (k, n) into tiles of 16
// pairs of k x 16 columns x 2, with the two numbers of a pair together. The tiles along k form a strip.
// Elements beyond the edges are 0. Strips are contiguous. If k is large, the tiles of one band (32 values of
// k) are contiguous instead, so that threads that pack different bands write to different memory.
//
// Sources are row-major; leading dimensions count elements.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "gradus/autograd/kernels/blas/gemm.hpp"
#include "gradus/autograd/kernels/elementwise/elementwise.hpp"
#include "gradus/autograd/kernels/threads/aligned_buffer.hpp"
#include "gradus/autograd/kernels/threads/parallel.hpp"

namespace gradus::kernels {

inline constexpr int64_t kStrip = 16;                          // rows or columns of a tile
inline constexpr int64_t kTileDepth = 32;                      // of k
inline constexpr int64_t kTileElements = kStrip * kTileDepth;  // 1 KiB
inline constexpr int64_t kDeep = 32;  // tiles along k from which on strips may not be contiguous

/// Which operand of a product a matrix is.
enum class Side : bool { left, right };

/// A matrix (rows, columns) as an operand, in memory that it owns or borrows.
struct PackedBf16 {
  Side side = Side::left;
  int64_t rows = 0, columns = 0;
  bfloat16* tiles = nullptr;
  AlignedBuffer owned = {};               ///< empty if `tiles` is borrowed
  int64_t strip_step = 0, tile_step = 0;  ///< in tiles: from strip to strip, and to the next 32 k

  int64_t strips() const { return ceil_div(side == Side::left ? rows : columns, kStrip); }
  int64_t depth() const { return ceil_div(side == Side::left ? columns : rows, kTileDepth); }
  bfloat16* tile(int64_t strip, int64_t at) const {
    return tiles + (strip * strip_step + at * tile_step) * kTileElements;
  }
  /// The part [begin, end) of k, in the same memory; both are multiples of kTileDepth, or end is that of k.
  PackedBf16 part_of_k(int64_t begin, int64_t end) const {
    bfloat16* const from = tile(0, begin / kTileDepth);
    const int64_t k = end - begin;
    if (side == Side::left) return {side, rows, k, from, {}, strip_step, tile_step};
    return {side, k, columns, from, {}, strip_step, tile_step};
  }
};

/// The size of a packed matrix in bytes.
int64_t packed_bytes(Side side, int64_t rows, int64_t columns);

/// An uninitialised matrix (rows, columns) that owns its memory. Throws Error if a size is negative.
PackedBf16 packed_matrix(Side side, int64_t rows, int64_t columns);
/// The same in borrowed memory of packed_bytes(), which must begin at a cache line.
PackedBf16 packed_matrix(Side side, int64_t rows, int64_t columns, void* memory);

/// Fills `out` with op(x), which has its rows and columns: x is (rows, columns), or with Trans::yes (columns,
/// rows), its rows ldx apart. Rounds to nearest, ties to even; NaN stays NaN.
void pack(Trans trans, const float* x, int64_t ldx, PackedBf16& out);

/// A matrix (rows, columns) to be packed a chunk of rows at a time, from memory or as it is computed.
struct RowSource {
  int64_t rows, columns;
  const float* x = nullptr;  ///< rows ldx apart; null: `make` computes them
  int64_t ldx = 0;
  /// Computes rows [row, row + rows) x columns [column, column + columns) to out, rows out_stride apart.
  /// Called once for each element, on any thread. May throw.
  std::function<void(int64_t row, int64_t rows, int64_t column, int64_t columns, float* out,
                     int64_t out_stride)>
      make = nullptr;
};

/// The forms that are made from each chunk while it is in the cache; null: not needed.
struct PackedRows {
  PackedBf16* left = nullptr;        ///< (rows, columns)
  PackedBf16* right = nullptr;       ///< (rows, columns)
  PackedBf16* transposed = nullptr;  ///< (columns, rows), of either side
  float* sums = nullptr;             ///< (columns), over rows, by chunks that depend on the sizes only
};

/// Reads or computes the matrix once for all forms, with the results of pack(). Throws Error for a form of
/// another shape or side.
void pack_rows(const RowSource& from, const PackedRows& to);

/// pack_rows() in steps: bands of kTileDepth rows in any order, on any threads, and then finish().
class RowPacking {
 public:
  /// Throws as pack_rows(). Keeps references to both.
  RowPacking(const RowSource& from, const PackedRows& to);
  int64_t bands() const { return ceil_div(from_.rows, kTileDepth); }
  /// Packs a band to all forms but to.left, and to `left`, if not null, whose first row is first_band's.
  void pack_band(int64_t band, const PackedBf16* left, int64_t first_band);
  void finish() const;  ///< sums

 private:
  const RowSource& from_;
  const PackedRows& to_;
  std::vector<float> sums_;  // of each band
  int64_t chunk_;            // columns that are packed at a time
};

/// Packs tiles whose sources lie `stride` elements apart along the rows of x, to out, out + out_stride and so
/// on. As words, pairs of k, a tile is (16, 16): the pairs lie along the rows of x or across them, and the
/// tile has the orientation of x or the other. Prefetches what is `ahead` elements after a tile. `streamed`
/// bypasses the caches if possible.
using PackTiles = void (*)(int64_t tiles, const float* x, int64_t ldx, int64_t stride, int64_t ahead,
                           bfloat16* out, int64_t out_stride, bool streamed);
struct PackLoops {
  PackTiles tiles[2][2];  // [pairs across rows][transposed]
};

// Those of bf16/isa/, built if the compiler has the instructions.
namespace avx512_bf16 {
extern const PackLoops pack_loops;
}

/// unary(x), or with up silu(x) * up, of contiguous matrices.
struct Activation {
  Unary unary;
  const float* x;
  const float* up;  ///< or null
};

/// Its values (rows, columns).
RowSource values_of(const Activation& of, int64_t rows, int64_t columns);

}  // namespace gradus::kernels
