// A tensor as NumPy prints it, for those who compare with a notebook that does `print(x.detach().numpy())`.
#pragma once

#include <string>

#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus {

/// What NumPy's str() gives for the same array under its default options: shortest digits that tell a number
/// from its neighbours, eight after the point at most, aligned at the point. bfloat16, which NumPy has not,
/// prints as the same values of float32. Throws Error if x is undefined.
std::string numpy_string(const Tensor& x);

}  // namespace gradus
