// Compares a result with the expected one. Private to replay.
#pragma once

#include <string>

#include "gradus/autograd/tensor.hpp"

namespace gradus::tools::detail {

struct Verdict {
  double worst = 0;     ///< largest absolute error of an element; infinite if that means nothing
  std::string message;  ///< what differs; empty if nothing does
};

// Infinities are equal to themselves, NaN to NaN, and neither is near a number.

/// Each element within atol + rtol |expected|.
Verdict compare_expected(const Tensor& got, const Tensor& expected, double atol, double rtol);
/// Each element within 1e-6 max(1, |value|).
Verdict compare_value(const Tensor& got, const Tensor& value);
/// The same dtype, shape and bits.
Verdict compare_bits(const Tensor& got, const Tensor& expected);
/// The text as `x` prints: in PyTorch's form or NumPy's if it is one of these, with whatever label comes
/// before; else each number of the text with as many decimals as it has there.
Verdict compare_text(const Tensor& x, const std::string& text);

}  // namespace gradus::tools::detail
