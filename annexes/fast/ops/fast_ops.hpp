// The operations of this annex, for the table (fast_kernels.hpp), and operands in bfloat16 that they share.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gradus/annexes/fast/bf16/bf16_pack.hpp"
#include "gradus/autograd/ops/products/operands.hpp"

namespace gradus {

/// An operand that has been rounded.
using Packed = std::shared_ptr<const kernels::PackedBf16>;

/// x, float32, packed. A parameter is packed once and kept until its values change; others each time.
Packed packed(kernels::Side side, const Matrices& x);
/// The same for a result in the graph: packed once while in use, or until this thread packs the next one.
Packed packed_for_all(kernels::Side side, const Matrices& x);

/// An operand to fill, in memory that its last user returns to the allocator of tensors.
std::shared_ptr<kernels::PackedBf16> memory_to_pack(kernels::Side side, int64_t rows, int64_t columns);

/// out (m, n) = a (m, k) @ b (k, n); all float32, out packed.
void multiply_rounded(Tensor& out, const Matrices& a, const Matrices& b);

/// The same for a batch: the offsets are in elements from the first one of the tensor.
void multiply_rounded_batch(Tensor& out, const Matrices& a, const std::vector<int64_t>& a_offsets,
                            const Matrices& b, const std::vector<int64_t>& b_offsets);

/// linear(), gelu_linear() and swiglu_linear() under Autocast: the arguments are checked, float32, not empty.
Tensor rounded_linear(const Tensor& x, const Tensor& weight, const Tensor& bias);
Tensor rounded_gelu_linear(const Tensor& x, const Tensor& weight, const Tensor& bias, Gelu approximate);
Tensor rounded_swiglu_linear(const Tensor& gate, const Tensor& up, const Tensor& weight, const Tensor& bias);

/// linear() with a stored weight; the arguments are checked. Autocast converts some of its rows at a time.
Tensor stored_linear(const Tensor& x, const Tensor& weight, const Tensor& bias);

/// scaled_dot_product_attention() by the kernels in attention/; the arguments are checked and fit them.
Tensor tiled_attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options);
Tensor tiled_attention(const Tensor& qkv, int64_t n_head, const AttentionOptions& options);

}  // namespace gradus
