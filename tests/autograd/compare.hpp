// What tests of tensors need: the operations and their gradients, and comparisons.
#pragma once

#include "catch.hpp"
#include "gradus/autograd/engine/backward.hpp"
#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/autograd/random/random.hpp"
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
/// 0, 1, 2, ... in the given shape: each element tells where it came from.
inline Tensor counted(const Shape& shape) {
  return arange(0, static_cast<double>(shape.numel()), 1, DType::float64).reshape(shape);
}
inline Tensor leaf(const std::vector<double>& values, const Shape& shape) {
  return tensor(values, shape).requires_grad_();
}

/// Draws float64 from the standard normal distribution.
struct Draw {
  Generator generator{6};
  Tensor operator()(const Shape& shape) { return randn(shape, generator, DType::float64); }
};

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

/// The largest difference, as a fraction of the largest expected value; infinite if a number is not finite.
inline double relative_error(const Tensor& actual, const Tensor& expected) {
  REQUIRE(actual.shape() == expected.shape());
  const double error =
      amax(abs(actual.detach().to(DType::float64) - expected)).item() / amax(abs(expected)).item();
  return std::isfinite(error) ? error : kInf;
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

/// CHECKs that f throws an Error whose text has the word, or all of the words.
template <class F>
void check_error(const std::string& word, const F& f) {
  CHECK_THAT(error_of(f), ContainsSubstring(word));
}
template <class F>
void check_error(std::initializer_list<const char*> words, const F& f) {
  const std::string text = error_of(f);
  for (const char* word : words) CHECK_THAT(text, ContainsSubstring(word));
}

/// CHECKs that f throws an Error of this text.
template <class F>
void check_error_is(const std::string& text, const F& f) {
  CHECK(error_of(f) == text);
}

}  // namespace gradus::testing
