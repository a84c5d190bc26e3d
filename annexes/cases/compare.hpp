// Compares a tensor with the expected one.
#pragma once

#include <functional>
#include <string>

#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus::cases {

struct Verdict {
  double worst = 0;     ///< largest absolute error of an element; infinite if the tensors cannot be compared
  std::string message;  ///< the first difference, on one line; empty if there is none
};

// In all of these an infinity equals itself alone, NaN equals NaN alone, and the shapes must be equal.

/// Each element within atol + rtol |expected|.
Verdict compare_expected(const Tensor& got, const Tensor& expected, double atol, double rtol);
/// Each element within 1e-6 max(1, |expected|).
Verdict compare_value(const Tensor& got, const Tensor& expected);
/// The same dtype and bits.
Verdict compare_bits(const Tensor& got, const Tensor& expected);
/// The text that `x` prints: in PyTorch's or NumPy's form if `text` has one of these, after any label; else
/// each number of the text, rounded to its number of decimals there.
Verdict compare_text(const Tensor& x, const std::string& text);

/// Whether `got` is accepted although it differs from PyTorch's `expected`.
using Pardon = std::function<bool(double got, double expected)>;
/// The same dtype, and each element within tolerance * max(1, |expected|) or pardoned. float32 may be
/// compared with float64: then a number beyond its range must be an infinity, and the tolerance is that of
/// the largest element, because cancellation gives small elements the same error.
Verdict compare_answer(const Tensor& got, const Tensor& expected, double tolerance,
                       const Pardon& pardon = nullptr);

}  // namespace gradus::cases
