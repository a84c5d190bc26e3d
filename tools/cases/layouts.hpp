// The same values in other memory layouts.
#pragma once

#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus::cases {

/// Stored with the dimensions in reverse order.
Tensor transposed(const Tensor& x);
/// Every other element of a larger tensor, from the second on. The rest is NaN, or a number that is no index,
/// because no operation may read it.
Tensor stepped(const Tensor& x);
/// The first slice of x along its first dimension that is longer than 1, repeated without a copy; x itself if
/// there is no such dimension. The values differ from x's.
Tensor expanded(const Tensor& x);

}  // namespace gradus::cases
