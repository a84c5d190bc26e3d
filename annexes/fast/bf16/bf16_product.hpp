// Matrix products of packed bfloat16 operands with float32 sums, by the instruction set in use (isa.hpp).
//
// The order of the sums, and so the bits, depend on (m, n, k) and the instruction set only: `widened` adds
// product after product; avx512_bf16 and amx add pairs and treat subnormal numbers as 0. If k >= 1024,
// c has at most 2^20 numbers and the operands have at least 8 times as many, each half of k has sums of its
// own, so that a thread that packed some rows of k reads the same ones, and c is their total.
#pragma once

#include <cstdint>

#include "gradus/annexes/fast/bf16/bf16_pack.hpp"
#include "gradus/autograd/kernels/blas/gemm.hpp"
#include "gradus/autograd/kernels/elementwise/elementwise.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"

namespace gradus::kernels {

/// Strips of an operand; the steps are bytes from strip to strip and, along k, from tile to tile.
struct Bf16Strips {
  const char* data;
  int64_t strip_step, tile_step;
};

/// out (16 rows, 16 columns) = start + left @ right in float32, for strips of `depth` whole tiles: `rows` of
/// left and `columns` of right. Rows of start and out are start_stride and out_stride elements apart; start
/// may be out, or a single row (start_stride 0).
struct Bf16Tiles {
  Bf16Strips left, right;
  int64_t rows, columns, depth;
  const float* start = nullptr;
  int64_t start_stride = 0;
  float* out = nullptr;
  int64_t out_stride = 0;
};

/// The part of a product that depends on the instruction set; it works on one thread.
struct Bf16Kernel {
  int64_t rows, columns;  // most strips that `multiply` takes
  int64_t depth;          // tiles along k whose `rows` strips fit the first-level cache
  int64_t panel;          // strips of right, of this depth, that fit the second-level cache
  void (*multiply)(const Bf16Tiles& tiles);
  // If multiply() takes float32: for each half of a cache line, of 16 pairs, writes the 16 first numbers,
  // then the 16 second ones.
  void (*widen)(int64_t lines, const bfloat16* pairs, float* out) = nullptr;
  // Called on a thread before and after its products, if not null.
  void (*begin)() = nullptr;
  void (*end)() = nullptr;
};

/// The kernel that is built for each level.
struct WidenedLoops {
  Bf16Kernel kernel;
};

// The kernels of bf16/isa/, built if the compiler has their instructions.
namespace amx {
extern const Bf16Kernel kernel;
}
namespace avx512_bf16 {
extern const Bf16Kernel kernel;
}

/// The kernel of an available instruction set.
const Bf16Kernel& bf16_kernel(Bf16Unit isa = isa_in_use<Bf16Unit>());

/// Initial values of the sums: 0 if neither is set.
struct ProductStart {
  const float* from = nullptr;  ///< (m, n), rows ldc apart; may be c
  const float* bias = nullptr;  ///< (n), the same for each row
};

/// c (m, n) = start + left (m, k) @ right (k, n), rows of c ldc apart. Throws Error if the operands do not
/// fit, if both starts are given, or if rows of c overlap.
void multiply_bf16(const PackedBf16& left, const PackedBf16& right, float* c, int64_t ldc,
                   const ProductStart& start = {}, const Bf16Kernel& kernel = bf16_kernel());

/// Whether it is fastest to multiply rows (m, k) by a matrix (k, n) while they are in the cache.
bool multiplies_as_it_packs(int64_t m, int64_t n, int64_t k);
/// Packs the rows (m, k) to the forms `to`; c (m, n) = start + rows @ right (k, n). Without `to.left`, each
/// thread packs and multiplies some rows at a time. Throws as pack_rows() and multiply_bf16().
void pack_and_multiply_bf16(const RowSource& rows, const PackedRows& to, const PackedBf16& right, float* c,
                            int64_t ldc, const ProductStart& start = {});

/// c[i] (m, n) = op(a + a_offset[i]) (m, k) @ op(b + b_offset[i]) (k, n), rounded to bfloat16, for each i of
/// `batch`; c is contiguous. One thread packs and computes each product.
void gemm_batch_bf16(int64_t batch, const int64_t* a_offset, const int64_t* b_offset, Trans ta, Trans tb,
                     int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* b,
                     int64_t ldb, float* c);

/// c (m, m) = op(a) (m, k) @ op(a)^T, rounded to bfloat16. Computes the blocks on and below the diagonal, and
/// copies those above it; c is contiguous.
void gram_bf16(Trans trans, int64_t m, int64_t k, const float* a, int64_t lda, float* c);

/// Multiplies tiles in the first-level cache for about a millisecond on the calling thread. Returns the
/// number of multiplications and additions.
int64_t bf16_burst();

}  // namespace gradus::kernels
