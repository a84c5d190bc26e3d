// What a result has in common with PyTorch's: infinity equals itself alone, NaN equals NaN, shapes are equal.
#pragma once

#include <cmath>
#include <functional>
#include <string>

#include "autograd/compare.hpp"

namespace gradus::cases {

/// Whether `got` is accepted although it differs from PyTorch's `expected`.
using Pardon = std::function<bool(double got, double expected)>;

/// Each element within allowed(|expected|), or pardoned: empty, or the first that is not.
template <class Allowed>
std::string compare_numbers(const Tensor& got, const Tensor& expected, const Allowed& allowed,
                            const Pardon& pardon = nullptr) {
  if (got.shape() != expected.shape())
    return concat("shape must be ", expected.shape(), ", got ", got.shape());
  const auto compare = [&]<class T>() -> std::string {
    const auto x = got.to(dtype_of<T>).template to_vector<T>(),
               y = expected.to(dtype_of<T>).template to_vector<T>();
    for (size_t i = 0; i < x.size(); ++i) {
      const auto a = static_cast<double>(x[i]), b = static_cast<double>(y[i]), d = std::abs(a - b);
      const bool same =
          x[i] == y[i] || (a != a && b != b) || (std::isfinite(d) && d > 0 && d <= allowed(std::abs(b)));
      if (!same && !(pardon && pardon(a, b))) return concat("element ", i, " must be ", b, ", got ", a);
    }
    return "";
  };
  if (!is_floating(got.dtype()) && got.dtype() == expected.dtype())
    return compare.template operator()<int64_t>();
  const bool is_single = got.dtype() == DType::float32 && is_floating(expected.dtype());
  return is_single ? compare.template operator()<float>() : compare.template operator()<double>();
}

/// The same dtype, and each element within tolerance * max(1, |expected|) or pardoned. float32 may be
/// compared with float64, with the tolerance of the largest element, because cancellation gives small
/// elements the same error.
inline std::string compare_answer(const Tensor& got, const Tensor& expected, double tolerance,
                                  const Pardon& pardon) {
  if (!got.defined()) return "there must be one, got none";
  const bool is_rounded = got.dtype() == DType::float32 && expected.dtype() == DType::float64;
  if (got.dtype() != expected.dtype() && !is_rounded) return concat("dtype must be ", name(expected.dtype()));
  double scale = 1;
  if (is_rounded)
    for (const float v : expected.to(DType::float32).to_vector<float>())
      if (std::isfinite(v)) scale = std::max(scale, std::abs(static_cast<double>(v)));
  return compare_numbers(
      got, expected, [&](double y) { return tolerance * std::max(scale, y); }, pardon);
}

}  // namespace gradus::cases
