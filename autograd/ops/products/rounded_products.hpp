// Products of operands rounded to bfloat16, as Autocast asks for. Internal.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/kernels/bf16/bf16_pack.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/autograd/ops/products/matrices.hpp"

namespace gradus {

/// An operand that has been rounded.
using Packed = std::shared_ptr<const kernels::PackedBf16>;

/// x, float32, packed. A parameter, a leaf that requires a gradient, is packed once and kept until its values
/// change; other tensors are packed each time.
Packed packed(kernels::Side side, const Matrices& x);
/// The same for a result in the graph, whose values do not change: it is packed once while it is in use, or
/// until this thread packs the next one for that side.
Packed packed_for_all(kernels::Side side, const Matrices& x);

/// An operand to fill, in memory that returns to the allocator of tensors with its last user.
std::shared_ptr<kernels::PackedBf16> memory_to_pack(kernels::Side side, int64_t rows, int64_t columns);

/// out (m, n) = a (m, k) @ b (k, n); all float32, out packed.
void multiply_rounded(Tensor& out, const Matrices& a, const Matrices& b);

/// The same for a batch: the offsets are in elements from the first one of the tensor.
void multiply_rounded(Tensor& out, const Matrices& a, const std::vector<int64_t>& a_offsets,
                      const Matrices& b, const std::vector<int64_t>& b_offsets);

/// y, just recorded, whose graph notes that its products were rounded.
Tensor marked(Tensor y);

/// linear(), gelu_linear() and swiglu_linear() under Autocast: the arguments are checked float32 ones, none
/// of them empty.
Tensor rounded_linear(const Tensor& x, const Tensor& weight, const Tensor& bias);
Tensor rounded_gelu_linear(const Tensor& x, const Tensor& weight, const Tensor& bias, Gelu approximate);
Tensor rounded_swiglu_linear(const Tensor& gate, const Tensor& up, const Tensor& weight, const Tensor& bias);

}  // namespace gradus
