// What the annex `fast` computes, and how fast_kernels() finds it: bfloat16, weights of 8 and 4 bits, and
// what is faster than BLAS and plain loops. A build with GRADUS_FAST=OFF has a table of null pointers. Code
// then takes BLAS and plain loops, or refuses what they cannot do. An entry is called once for an operation.
#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "gradus/files/error.hpp"

namespace gradus {
class Tensor;
struct AttentionOptions;
enum class Gelu;
struct Matrices;  // ops/products/operands.hpp
}  // namespace gradus

namespace gradus::kernels {

enum class Trans : bool;
template <class T>
struct FloatProduct;  // blas/float_product.hpp

/// Functions for matrices of T, which is float or double.
template <class T>
struct FloatKernels {
  void (*multiply)(const FloatProduct<T>& product) = nullptr;  ///< on the calling thread; k >= 1
  void (*mirror)(int64_t m, T* c) = nullptr;                   ///< see gemm.hpp
};

/// The kernels of one type of weights in tiles (tensor/quantized_types.hpp).
struct TileKernels {
  /// Quantizes a matrix x (rows, k). NaN becomes 0; scales are at most 65504.
  void (*from_floats)(int64_t rows, int64_t k, void* tiles, const float* x);
  /// The values of rows [begin, end), (end - begin, k).
  void (*to_floats)(int64_t begin, int64_t end, int64_t k, float* out, const void* tiles);
  /// y (m, n) = x (m, k) @ w (n, k)^T + bias (n) in float32; rows of x are ldx apart, bias may be nullptr.
  void (*linear)(int64_t m, int64_t n, int64_t k, float* y, const float* x, int64_t ldx, const void* tiles,
                 const float* bias);
};

struct FastKernels {
  // Under Autocast(DType::bfloat16), which is refused without them. Checked arguments, float32, not empty.

  /// out (m, n) = a (m, k) @ b (k, n); out is packed.
  void (*multiply_rounded)(Tensor& out, const Matrices& a, const Matrices& b) = nullptr;
  /// The same for a batch: the offsets are in elements from the first one of the tensor.
  void (*multiply_rounded_batch)(Tensor& out, const Matrices& a, const std::vector<int64_t>& a_offsets,
                                 const Matrices& b, const std::vector<int64_t>& b_offsets) = nullptr;
  Tensor (*rounded_linear)(const Tensor& x, const Tensor& weight, const Tensor& bias) = nullptr;
  Tensor (*rounded_gelu_linear)(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                Gelu approximate) = nullptr;
  Tensor (*rounded_swiglu_linear)(const Tensor& gate, const Tensor& up, const Tensor& weight,
                                  const Tensor& bias) = nullptr;
  /// c (m, m) = op(a) (m, k) @ op(a)^T, rounded to bfloat16; c is contiguous.
  void (*gram_bf16)(Trans trans, int64_t m, int64_t k, const float* a, int64_t lda, float* c) = nullptr;
  /// Multiplies for about a millisecond on the calling thread, from the first-level cache. Returns the
  /// number of multiplications and additions.
  int64_t (*bf16_burst)() = nullptr;

  // Weights that are only stored, in bfloat16 and in tiles.

  /// linear(); the arguments are checked.
  Tensor (*stored_linear)(const Tensor& x, const Tensor& weight, const Tensor& bias) = nullptr;
  const TileKernels* tiles = nullptr;  ///< one for each type, in the order of DType

  // Attention in tiles of scores, for what is_fused() in ops/products/attention.cpp accepts.

  Tensor (*attention)(const Tensor& q, const Tensor& k, const Tensor& v,
                      const AttentionOptions& options) = nullptr;
  Tensor (*packed_attention)(const Tensor& qkv, int64_t n_head, const AttentionOptions& options) = nullptr;

  // Products of float32 and float64.

  bool (*beats_blas)() = nullptr;  ///< whether `multiply` is faster in large products, at the level in use
  std::tuple<FloatKernels<float>, FloatKernels<double>> floats = {};
};

/// Those of this build.
const FastKernels& fast_kernels();

/// The entry of the table that computes `what`. Throws Error if the build lacks it.
template <class Kernel, class... What>
Kernel needed(Kernel kernel, std::string_view op, const What&... what) {
  if (!kernel) fail(op, what..., " needs a build with GRADUS_FAST=ON, got one with GRADUS_FAST=OFF.");
  return kernel;
}

}  // namespace gradus::kernels
