// The same values in other places of memory. Private to conform.
#pragma once

#include "gradus/autograd/tensor.hpp"

namespace gradus::tools::conformance {

/// Stored with the dimensions in reverse order.
Tensor transposed(const Tensor& x);
/// Every other element of a larger tensor, from the second on, whose rest no op may read: it is NaN, or a
/// number that is no index.
Tensor stepped(const Tensor& x);
/// The first slice of x along its first dimension that is longer than 1, repeated without a copy: other
/// values, stored once. x itself if there is no such dimension.
Tensor expanded(const Tensor& x);

}  // namespace gradus::tools::conformance
