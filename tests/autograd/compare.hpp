// Comparing tensors in tests.
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/autograd/tensor/tensor.hpp"
#include "gradus/files/error.hpp"

namespace gradus::testing {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

inline Tensor f64(const std::vector<double>& values, const Shape& shape) { return tensor(values, shape); }
inline Tensor f64(const std::vector<double>& values) {
  return tensor(values, {static_cast<int64_t>(values.size())});
}
inline Tensor f32(const std::vector<double>& values, const Shape& shape) {
  return tensor(values, shape).to(DType::float32);
}
inline Tensor f32(const std::vector<double>& values) { return f64(values).to(DType::float32); }
inline Tensor bools(const std::vector<bool>& values) {
  return tensor(values, {static_cast<int64_t>(values.size())});
}
inline Tensor i64(const std::vector<int64_t>& values) {
  return tensor(values, {static_cast<int64_t>(values.size())});
}
inline Tensor leaf(const std::vector<double>& values, const Shape& shape) {
  return tensor(values, shape).requires_grad_();
}

/// Empty if dtype, shape and numbers agree within tolerance * max(1, |expected|), where NaN agrees with NaN
/// and an infinity with itself only; otherwise says what differs. Written so that a failed CHECK shows it:
/// CHECK(difference(actual, expected) == "").
inline std::string difference(const Tensor& actual, const Tensor& expected, double tolerance = 1e-12) {
  if (!actual.defined() || !expected.defined())
    return actual.defined() == expected.defined() ? "" : "one is undefined";
  if (actual.dtype() != expected.dtype())
    return concat("dtype ", name(actual.dtype()), " != ", name(expected.dtype()));
  if (actual.shape() != expected.shape()) return concat("shape ", actual.shape(), " != ", expected.shape());
  const std::vector<double> a = actual.to(DType::float64).to_vector<double>();
  const std::vector<double> e = expected.to(DType::float64).to_vector<double>();
  for (size_t i = 0; i < e.size(); ++i) {
    const bool same = std::isfinite(e[i]) ? std::abs(a[i] - e[i]) <= tolerance * std::max(1.0, std::abs(e[i]))
                                          : (std::isnan(e[i]) ? std::isnan(a[i]) : a[i] == e[i]);
    if (!same) return concat("element ", i, ": ", a[i], " != ", e[i]);
  }
  return "";
}

/// The text of the Error that f throws; empty if it throws none.
template <class F>
std::string error_of(const F& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace gradus::testing
