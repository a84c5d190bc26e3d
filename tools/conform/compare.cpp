#include "gradus/tools/conform/compare.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>

#include "gradus/autograd/error.hpp"

namespace gradus::tools::conformance {
namespace {

bool is_near(double got, double expected, double tolerance) {
  if (std::isnan(expected)) return std::isnan(got);
  return std::isinf(expected) ? got == expected : std::abs(got - expected) <= tolerance;
}

// The largest finite size, at least 1.
double largest(const std::vector<double>& values) {
  double size = 1;
  for (const double v : values)
    if (std::isfinite(v)) size = std::max(size, std::abs(v));
  return size;
}

}  // namespace

std::string difference(const Tensor& got, const Tensor& expected, double tolerance, const Pardon& pardon) {
  if (!got.defined()) return "there must be one, got none";
  const bool float32_beside_64 = got.dtype() == DType::float32 && expected.dtype() == DType::float64;
  if (got.dtype() != expected.dtype() && !float32_beside_64)
    return concat("dtype must be ", name(expected.dtype()), ", got ", name(got.dtype()));
  if (got.shape() != expected.shape())
    return concat("shape must be ", expected.shape(), ", got ", got.shape());
  const std::vector<double> g = got.to(DType::float64).to_vector<double>();
  const std::vector<double> e = expected.to(got.dtype()).to(DType::float64).to_vector<double>();
  const double scale = float32_beside_64 ? largest(e) : 1;
  int64_t count = 0, first = 0;
  for (size_t i = 0; i < e.size(); ++i) {
    const double allowed = tolerance * std::max(scale, std::abs(e[i]));
    if (is_near(g[i], e[i], allowed) || (pardon && pardon(g[i], e[i]))) continue;
    if (count++ == 0) first = static_cast<int64_t>(i);
  }
  if (count == 0) return "";
  const auto at = static_cast<size_t>(first);
  return concat(std::setprecision(17), "element ", got.shape().index_of(first), " must be ", e[at], ", got ",
                g[at], "; ", count, " of ", e.size(), " differ");
}

}  // namespace gradus::tools::conformance
