#include "gradus/autograd/kernels/blas/choose_product.hpp"

#include <algorithm>

#include "gradus/autograd/kernels/blas/float_product.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"

namespace gradus::kernels {
namespace {

// Fewer queries than this do not repay the transposition of the keys. The product with scores transposed, a
// row for each key, transposes nothing.
constexpr int64_t kFewQueries = 4;
constexpr int64_t kTinyProduct = 400;  // multiplications; a call of BLAS costs more

bool is_tiny(const ProductTraits& p) {
  return std::max({p.m, p.n, p.k}) < kTinyProduct && p.m * p.n * p.k < kTinyProduct;
}

// AVX-512, with which OpenBLAS is slower. A small product is not faster by our loops, nor one of few rows or
// columns with an operand that has to be transposed.
bool beats_blas(const ProductTraits& p) {
  return isa_loops<ProductLoops<float>>().beat_blas && std::min({p.m, p.n, p.k}) >= 16 &&
         p.m * p.n * p.k >= int64_t{1} << 19 && (!p.b_transposed || p.m >= 128) &&
         (!p.a_transposed || p.n >= 32);
}

}  // namespace

// The table that docs/how-it-is-built.md shows: the first row that applies counts.
ProductCode choose_product(const ProductTraits& p) {
  using enum ProductCode;
  if (p.weight == WeightFormat::tiles) return quantized_linear;
  if (p.weight == WeightFormat::bfloat16) return linear_few_rows;
  if (p.rounded) return multiply_bf16;
  if (p.place == ProductPlace::attention && (p.m >= kFewQueries || p.a_transposed)) return attention_loops;
  if (is_tiny(p)) return plain_dots;
  if (p.place == ProductPlace::linear && p.m <= kFewRows) return linear_few_rows;
  if (beats_blas(p)) return multiply_floats;
  return p.m == 1 || p.n == 1 ? gemv : gemm;
}

}  // namespace gradus::kernels
