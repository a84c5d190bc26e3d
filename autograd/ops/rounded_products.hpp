// Products of operands rounded to bfloat16, as Autocast asks for. Internal.
#pragma once

#include <cstdint>
#include <vector>

#include "gradus/autograd/graph/autocast.hpp"
#include "gradus/autograd/ops/matrices.hpp"
#include "gradus/autograd/values/tensor.hpp"

namespace gradus {

/// out (m, n) = a (m, k) @ b (k, n) + bias (n), or without a bias where that is null; all float32, out
/// packed. A parameter, a leaf that requires a gradient, is packed once and kept so until its values change.
void multiply_rounded(Tensor& out, const Matrices& a, const Matrices& b, const float* bias = nullptr);

/// The same for a batch: matrix i of each begins so many elements after the first one of the tensor.
void multiply_rounded(Tensor& out, const Matrices& a, const std::vector<int64_t>& a_offsets,
                      const Matrices& b, const std::vector<int64_t>& b_offsets);

/// y, just recorded, whose graph says how its products were made.
Tensor marked(Tensor y);

}  // namespace gradus
