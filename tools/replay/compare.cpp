#include "gradus/tools/replay/compare.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iomanip>
#include <limits>

#include "gradus/autograd/error.hpp"

namespace gradus::tools::detail {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double distance(int64_t a, int64_t b) {
  return a == b ? 0.0 : std::max(1.0, std::abs(static_cast<double>(a) - static_cast<double>(b)));
}
double distance(bool a, bool b) { return a == b ? 0.0 : 1.0; }
double distance(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0.0;
  const double d = std::abs(a - b);
  return std::isnan(d) ? kInfinity : d;
}

template <class T>
std::string shown(T x) {
  if (x != x) return "nan";  // without a sign
  return concat(std::boolalpha, std::setprecision(std::numeric_limits<T>::max_digits10), x);
}

// The index of element i in a tensor of this shape, as Python writes it.
std::string index_of(int64_t i, const Shape& shape) {
  std::string text;
  for (const int64_t at : shape.index_of(i)) text += concat(text.empty() ? "" : ", ", at);
  return text.empty() ? "the element" : concat("element [", text, "]");
}

// same(got, expected, distance) tells of elements of one type whether they pass.
template <class T, class Same>
Verdict compare_elements(const Tensor& got, const Tensor& expected, Same same, std::string_view rule) {
  const auto x = got.to_vector<T>(), y = expected.to_vector<T>();
  Verdict verdict;
  size_t first = 0;
  int64_t different = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double d = distance(x[i], y[i]);
    verdict.worst = std::max(verdict.worst, d);
    if (same(x[i], y[i], d)) continue;
    if (different++ == 0) first = i;
  }
  if (different > 0)
    verdict.message = concat(index_of(static_cast<int64_t>(first), got.shape()), " is ", shown<T>(x[first]),
                             ", expected ", shown<T>(y[first]), rule, "; ", different, " of ", x.size(),
                             " differ, the worst by ", std::setprecision(3), verdict.worst);
  return verdict;
}

Verdict shapes_differ(const Tensor& got, const Tensor& expected) {
  return {kInfinity, concat("shape is ", got.shape(), ", expected ", expected.shape())};
}

// allowed(|expected|) is the tolerance of an element.
template <class Allowed>
Verdict compare_numbers(const Tensor& got, const Tensor& expected, Allowed allowed, const std::string& rule) {
  if (got.shape() != expected.shape()) return shapes_differ(got, expected);
  const auto compare = [&]<class T>(const Tensor& wanted) {
    return compare_elements<T>(
        got.to(dtype_of<T>), wanted,
        [&](T, T y, double d) { return d == 0.0 || d <= allowed(std::abs(static_cast<double>(y))); }, rule);
  };
  if (got.dtype() == expected.dtype() && !is_floating(got.dtype()))
    return got.dtype() == DType::boolean ? compare.template operator()<bool>(expected)
                                         : compare.template operator()<int64_t>(expected);
  // Decimals are what a float32 was printed as, so they are read as one.
  if (got.dtype() == DType::float32 && is_floating(expected.dtype()))
    return compare.template operator()<float>(expected.to(DType::float32));
  return compare.template operator()<double>(expected.to(DType::float64));
}

}  // namespace

Verdict compare_expected(const Tensor& got, const Tensor& expected, double atol, double rtol) {
  const std::string rule =
      atol == 0.0 && rtol == 0.0 ? " exactly" : concat(" within ", atol, " + ", rtol, " |expected|");
  return compare_numbers(
      got, expected, [&](double y) { return atol + (rtol == 0.0 ? 0.0 : rtol * y); }, rule);
}

Verdict compare_value(const Tensor& got, const Tensor& value) {
  return compare_numbers(
      got, value, [](double y) { return 1e-6 * std::max(1.0, y); }, " within 1e-06 max(1, |value|)");
}

Verdict compare_bits(const Tensor& got, const Tensor& expected) {
  if (got.dtype() != expected.dtype())
    return {kInfinity, concat("dtype is ", name(got.dtype()), ", expected ", name(expected.dtype()))};
  if (got.shape() != expected.shape()) return shapes_differ(got, expected);
  return dispatch_any(got.dtype(), [&]<class T>() {
    const auto same = [](T x, T y, double) {
      if constexpr (std::is_same_v<T, float>)
        return std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y);
      else if constexpr (std::is_same_v<T, double>)
        return std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(y);
      else
        return x == y;
    };
    return compare_elements<T>(got, expected, same, " bit for bit");
  });
}

}  // namespace gradus::tools::detail
