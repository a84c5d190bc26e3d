#include "gradus/autograd/kernels/blas/choose_product.hpp"

#include <algorithm>

#include "gradus/autograd/kernels/fast/fast_kernels.hpp"

namespace gradus::kernels {
namespace {

// Fewer queries do not repay the transposition of the keys. A product with transposed scores does not
// transpose them.
constexpr int64_t kFewQueries = 4;
constexpr int64_t kLongRow = 1 << 15;  // linear_few_rows adds in order, which loses digits of longer sums
constexpr int64_t kTinyProduct = 400;  // multiplications; a call of BLAS costs more

bool is_tiny(const ProductTraits& p) {
  return std::max({p.m, p.n, p.k}) < kTinyProduct && p.m * p.n * p.k < kTinyProduct;
}

// Not for small products, nor for few rows or columns and a transposed operand.
bool beats_blas(const ProductTraits& p) {
  return own_products_beat_blas() && std::min({p.m, p.n, p.k}) >= 16 && p.m * p.n * p.k >= int64_t{1} << 19 &&
         (!p.b_transposed || p.m >= 128) && (!p.a_transposed || p.n >= 32);
}

}  // namespace

bool own_products_beat_blas() {
  const auto beats = fast_kernels().beats_blas;
  return beats && beats();
}

// docs/how-it-is-built.md shows this table.
ProductCode choose_product(const ProductTraits& p) {
  using enum ProductCode;
  if (p.rounded && (p.weight == WeightFormat::as_x || p.m > kFewRows)) return multiply_bf16;
  if (p.weight == WeightFormat::tiles) return quantized_linear;
  if (p.weight == WeightFormat::bfloat16) return linear_few_rows;
  if (p.place == ProductPlace::attention && (p.m >= kFewQueries || p.a_transposed)) return attention_loops;
  if (is_tiny(p)) return plain_dots;
  if (p.place == ProductPlace::linear && p.m <= kFewRows && p.k <= kLongRow) return linear_few_rows;
  if (beats_blas(p)) return multiply_floats;
  return p.m == 1 || p.n == 1 ? gemv : gemm;
}

}  // namespace gradus::kernels
