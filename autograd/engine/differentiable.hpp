// The two operations that the engine needs where gradients may be differentiated again. ops/arguments.cpp
// defines them.
#pragma once

#include <cstdint>
#include <vector>

#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus::differentiable {

/// a + b, recorded as any sum is.
Tensor add(const Tensor& a, const Tensor& b);
/// The sum over dims, which keep size 1.
Tensor sum(const Tensor& x, const std::vector<int64_t>& dims);

}  // namespace gradus::differentiable
