// Operands of products in bfloat16, packed: rounded once, cut into the tiles that matrix units take, and then
// used any number of times by any threads. The form is the same for every instruction set.
//
// A left operand (m, k) is cut into tiles of 16 rows x 32 k, row by row; a right one (k, n) into tiles of 16
// pairs of k x 16 columns x 2, the two numbers of a pair side by side. The tiles along k form a strip;
// tiles of a strip, and strips, follow each other in memory. Elements beyond the edges are 0.
//
// Sources are row-major; leading dimensions count elements.
#pragma once

#include <cstdint>

#include "gradus/autograd/kernels/blas/gemm.hpp"
#include "gradus/autograd/kernels/elementwise/bfloat16.hpp"
#include "gradus/autograd/kernels/elementwise/elementwise.hpp"
#include "gradus/autograd/kernels/threads/aligned_buffer.hpp"

namespace gradus::kernels {

inline constexpr int64_t kStrip = 16;                          // rows or columns of a tile
inline constexpr int64_t kTileDepth = 32;                      // of k
inline constexpr int64_t kTileElements = kStrip * kTileDepth;  // 1 KiB

/// The number of parts of length b in a length a; the last one may be shorter.
constexpr int64_t parts_of(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Which operand of a product a matrix is.
enum class Side : bool { left, right };

/// A matrix (rows, columns) as one side of a product, in memory that it owns or that it borrows.
struct PackedBf16 {
  Side side = Side::left;
  int64_t rows = 0, columns = 0;
  bfloat16* tiles = nullptr;
  AlignedBuffer owned;      ///< empty if `tiles` is borrowed
  int64_t strip_tiles = 0;  ///< from a strip to the next, for the first part of a deeper matrix; 0: depth()

  int64_t strips() const { return parts_of(side == Side::left ? rows : columns, kStrip); }
  int64_t depth() const { return parts_of(side == Side::left ? columns : rows, kTileDepth); }
  int64_t strip_step() const { return strip_tiles > 0 ? strip_tiles : depth(); }
  const bfloat16* tile(int64_t strip, int64_t at) const {
    return tiles + (strip * strip_step() + at) * kTileElements;
  }
};

/// How much memory a packed matrix takes, in bytes.
int64_t packed_bytes(Side side, int64_t rows, int64_t columns);

/// An uninitialised matrix (rows, columns) that owns its memory. Throws Error if a size is negative.
PackedBf16 packed_matrix(Side side, int64_t rows, int64_t columns);
/// The same in memory of the caller's, packed_bytes() long, which must begin at a cache line and outlive it.
PackedBf16 packed_matrix(Side side, int64_t rows, int64_t columns, void* memory);

/// Fills `out` with op(x), which has its rows and columns: x is (rows, columns), or with Trans::yes (columns,
/// rows), its own rows ldx apart. Rounds to the nearest, to even at half; NaN stays NaN.
void pack(Trans trans, const float* x, int64_t ldx, PackedBf16& out);

/// A matrix (rows, columns) that is packed a block of rows at a time: where it lies, or as it is made.
struct RowBlocks {
  int64_t rows, columns;
  const float* x = nullptr;  ///< its rows ldx apart, or null
  int64_t ldx = 0;
  /// Makes rows [row, row + rows) x columns [column, column + columns) in out, its own rows out_step apart.
  /// Each element is made once, by any thread. May throw.
  void (*make)(const void* context, int64_t row, int64_t rows, int64_t column, int64_t columns, float* out,
               int64_t out_step) = nullptr;
  const void* context = nullptr;
};

/// The forms that are made while a block is in the cache; null: not wanted.
struct PackedRows {
  PackedBf16* left = nullptr;        ///< (rows, columns)
  PackedBf16* right = nullptr;       ///< (rows, columns)
  PackedBf16* transposed = nullptr;  ///< (columns, rows): a left operand
  float* sums = nullptr;             ///< (columns), over rows, in blocks that depend on the sizes only
};

/// Reads or makes it once for all of them; the packed forms are those of pack(). Throws Error for a form that
/// is not of its shape and side.
void pack_rows(const RowBlocks& from, const PackedRows& to);

/// Packs tiles whose sources lie `step` elements apart along the rows of x, to out, out + out_step and so on.
/// As words, pairs of k, a tile is (16, 16): the pairs lie along the rows of x or across them, and the tile
/// is made as x has it or transposed. `streamed` is for tiles that are not soon read again, where they do not
/// fall into the caches.
using PackTiles = void (*)(int64_t tiles, const float* x, int64_t ldx, int64_t step, bfloat16* out,
                           int64_t out_step, bool streamed);
struct PackLoops {
  PackTiles tiles[2][2];  // [pairs across rows][transposed]
};

/// unary(x), or with up silu(x) * up: matrices (m, n), packed.
struct Activation {
  Unary unary;  ///< of x alone
  const float* x;
  const float* up;  ///< null: of x alone
};

/// Its values (rows, columns) in the forms that are wanted.
void pack_activation(const Activation& activation, int64_t rows, int64_t columns, const PackedRows& to);

}  // namespace gradus::kernels
