// Compares the answers of gradus with PyTorch's. Private to conform.
#pragma once

#include <functional>
#include <string>

#include "gradus/autograd/tensor.hpp"

namespace gradus::tools::conformance {

/// Whether `got` may stand where PyTorch has `expected`, although they differ.
using Pardon = std::function<bool(double got, double expected)>;

/// What differs first, on one line; empty if nothing does: shapes and dtypes exactly, numbers within
/// tolerance * max(1, |expected|), an infinity with itself only, NaN with NaN. float32 may stand beside
/// float64: then a number beyond its range must be an infinity, and the tolerance is that of the largest
/// element, for elements that are small because large terms cancelled can be no better.
std::string difference(const Tensor& got, const Tensor& expected, double tolerance,
                       const Pardon& pardon = nullptr);

}  // namespace gradus::tools::conformance
