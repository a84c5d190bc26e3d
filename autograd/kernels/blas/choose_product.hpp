// Chooses the code that computes a matrix product, for all products.
#pragma once

#include <cstdint>

namespace gradus::kernels {

/// Functions by name; plain_dots, gemv and gemm are parts of those of gemm.hpp. The annex `fast` has those
/// that few_rows.hpp and gemm.hpp do not.
enum class ProductCode : uint8_t {
  quantized_linear,
  linear_few_rows,
  multiply_bf16,
  attention_loops,  ///< ProductLoops on tiles of scores
  plain_dots,
  multiply_floats,
  gemv,
  gemm
};

/// tiles: 8 or 4 bits.
enum class WeightFormat : uint8_t { as_x, bfloat16, tiles };
enum class ProductPlace : uint8_t { anywhere, linear, attention };

/// A product of an (m, k) and a (k, n) matrix, with all properties that affect the choice.
struct ProductTraits {
  int64_t m, n, k;
  bool a_transposed = false, b_transposed = false;  ///< stored as their transposes
  bool rounded = false;                             ///< float32 under Autocast
  WeightFormat weight = WeightFormat::as_x;
  ProductPlace place = ProductPlace::anywhere;
};

/// The most rows for linear_few_rows() in a linear layer. BLAS copies the weights first, which costs more.
inline constexpr int64_t kFewRows = 8;

/// Whether `multiply_floats` is faster in large products: in the annex `fast`, with AVX-512.
bool own_products_beat_blas();

/// Depends on p and on the instruction set in use, not on the number of threads.
ProductCode choose_product(const ProductTraits& p);

}  // namespace gradus::kernels
