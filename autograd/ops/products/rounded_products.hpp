// Products of operands rounded to bfloat16, as Autocast asks for. Internal.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gradus/autograd/graph/autocast.hpp"
#include "gradus/autograd/kernels/bf16/bf16_pack.hpp"
#include "gradus/autograd/ops/products/matrices.hpp"
#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus {

/// An operand that has been rounded.
using Packed = std::shared_ptr<const kernels::PackedBf16>;

/// x, float32, packed. A parameter, a leaf that requires a gradient, is packed once and kept so until its
/// values change; what else it is, each time.
Packed packed(kernels::Side side, const Matrices& x);
/// The same of a result in the graph, whose values nobody writes through pointers of old: it is not packed
/// again while somebody uses it, or until this thread packs the next one for that side.
Packed packed_for_all(kernels::Side side, const Matrices& x);

/// An operand to fill, in memory that returns to the allocator of tensors with its last user.
std::shared_ptr<kernels::PackedBf16> memory_to_pack(kernels::Side side, int64_t rows, int64_t columns);

/// out (m, n) = a (m, k) @ b (k, n); all float32, out packed.
void multiply_rounded(Tensor& out, const Matrices& a, const Matrices& b);

/// The same for a batch: matrix i of each begins so many elements after the first one of the tensor.
void multiply_rounded(Tensor& out, const Matrices& a, const std::vector<int64_t>& a_offsets,
                      const Matrices& b, const std::vector<int64_t>& b_offsets);

/// y, just recorded, whose graph says how its products were made.
Tensor marked(Tensor y);

}  // namespace gradus
