// Which code computes a matrix product. This is the only place that decides it; all products ask here.
#pragma once

#include <cstdint>

namespace gradus::kernels {

/// The functions that multiply, by name; plain_dots, gemv and gemm are parts of gemm.hpp's.
enum class ProductCode : uint8_t {
  quantized_linear,
  linear_few_rows,
  multiply_bf16,
  attention_loops,  ///< ProductLoops on blocks of scores
  plain_dots,
  multiply_floats,
  gemv,
  gemm
};

enum class WeightFormat : uint8_t {
  as_x,
  bfloat16,
  tiles
};  ///< tiles: numbers of 8 or 4 bits (quantized.hpp)
enum class ProductPlace : uint8_t { anywhere, linear, attention };

/// A product of an (m, k) and a (k, n) matrix: all that the choice depends on.
struct ProductTraits {
  int64_t m, n, k;
  bool a_transposed = false, b_transposed = false;  ///< whether the operand is stored as its transpose
  bool rounded = false;                             ///< float32 under Autocast
  WeightFormat weight = WeightFormat::as_x;
  ProductPlace place = ProductPlace::anywhere;
};

/// In a linear layer, linear_few_rows() takes up to this number of rows: BLAS copies the weights before it
/// multiplies, which costs more.
inline constexpr int64_t kFewRows = 8;

/// It depends on the arguments and on the instruction set in use (isa.hpp), never on the number of threads.
ProductCode choose_product(const ProductTraits& p);

}  // namespace gradus::kernels
