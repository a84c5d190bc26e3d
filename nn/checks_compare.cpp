#include "gradus/nn/checks_compare.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/files/error.hpp"

namespace gradus::nn::detail {
namespace {

Tensor copy_of(const Tensor& x) {
  Tensor copy = empty(x.shape(), x.dtype());
  copy.copy_(x);
  return copy;
}

}  // namespace

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

Moved compare(const Tensor& before, const Tensor& after, double allowed) {
  const std::vector<double> a = before.to(DType::float64).to_vector<double>();
  const std::vector<double> b = after.to(DType::float64).to_vector<double>();
  Moved moved;
  for (size_t i = 0; i < a.size(); ++i) {
    const bool same_bits = std::bit_cast<uint64_t>(a[i]) == std::bit_cast<uint64_t>(b[i]);
    if (same_bits || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double change = std::abs(a[i] - b[i]);
    moved.worst = std::max(moved.worst, std::isnan(change) ? kInfinity : change);
    if (moved || (allowed > 0.0 && change <= allowed)) continue;
    moved.at = before.shape().index_of(static_cast<int64_t>(i));
    moved.from = a[i];
    moved.to = b[i];
  }
  return moved;
}

bool equal(const Tensor& a, const Tensor& b) { return !compare(a, b, 0.0); }

double largest(const Tensor& x) {
  double most = 0;
  for (const double value : x.to(DType::float64).to_vector<double>())
    if (std::isfinite(value)) most = std::max(most, std::abs(value));
  return most;
}

double rounding(DType dtype) {
  if (dtype == DType::float32) return 1e-5;
  return dtype == DType::float64 ? 1e-12 : 0.0;
}

double allowance(std::string_view op, const Tensor& outputs, std::optional<double> tolerance) {
  const double relative = tolerance.value_or(rounding(outputs.dtype()));
  if (!(relative >= 0.0)) fail(op, "tolerance must be >= 0, got ", relative, ".");
  return relative * largest(outputs);
}

void check_input(std::string_view op, const Tensor& x) {
  if (!x.defined() || x.numel() == 0)
    fail(op, "x must have elements, got ", x.defined() ? concat(x.shape()) : "none", ".");
  if (x.dtype() == DType::boolean) fail(op, "x must be float32, float64 or int64, got bool.");
}

Tensor outputs_of(std::string_view op, const Function& f, const Tensor& x) {
  const Tensor y = f(copy_of(x));
  if (!y.defined()) fail(op, "the model must return a tensor, got none.");
  return copy_of(y);
}

void check_shape(std::string_view op, const Tensor& outputs, const Shape& expected) {
  if (outputs.shape() != expected)
    fail(op, "outputs must have the shape ", expected, " here, got ", outputs.shape(), ".");
}

Tensor rotated(const Tensor& x, int64_t dim) {
  return cat({x.slice(dim, 1, x.size(dim)), x.slice(dim, 0, 1)}, dim);
}

std::string extent(double worst, double allowed) {
  return concat("worst change ", number(worst), ", allowed ", number(allowed));
}

}  // namespace gradus::nn::detail
