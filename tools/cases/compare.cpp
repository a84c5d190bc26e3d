#include "gradus/tools/cases/compare.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iomanip>
#include <limits>

#include "gradus/files/error.hpp"

namespace gradus::cases {
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

/// "element [0, 1]" for element i of a tensor of this shape.
std::string element(int64_t i, const Shape& shape) {
  std::string text;
  for (const int64_t at : shape.index_of(i)) text += concat(text.empty() ? "" : ", ", at);
  return text.empty() ? "the element" : concat("element [", text, "]");
}

/// same(got, expected, distance) says whether elements of one type pass.
template <class T, class Same>
Verdict compare_elements(const Tensor& got, const Tensor& expected, Same same, const std::string& rule) {
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
    verdict.message = concat(element(static_cast<int64_t>(first), got.shape()), " must be ",
                             shown<T>(y[first]), rule, ", got ", shown<T>(x[first]), "; ", different, " of ",
                             x.size(), " differ, the worst by ", std::setprecision(3), verdict.worst);
  return verdict;
}

Verdict shapes_differ(const Tensor& got, const Tensor& expected) {
  return {kInfinity, concat("shape must be ", expected.shape(), ", got ", got.shape())};
}

Verdict dtypes_differ(const Tensor& got, const Tensor& expected) {
  return {kInfinity, concat("dtype must be ", name(expected.dtype()), ", got ", name(got.dtype()))};
}

/// allowed(|expected|) is the tolerance of an element.
Verdict compare_numbers(const Tensor& got, const Tensor& expected,
                        const std::function<double(double)>& allowed, const std::string& rule,
                        const Pardon& pardon = nullptr) {
  if (got.shape() != expected.shape()) return shapes_differ(got, expected);
  const auto compare = [&]<class T>(const Tensor& wanted) {
    const auto same = [&](T x, T y, double d) {
      const auto value = [](T v) { return static_cast<double>(v); };
      return d == 0.0 || (std::isfinite(d) && d <= allowed(std::abs(value(y)))) ||
             (pardon && pardon(value(x), value(y)));
    };
    return compare_elements<T>(got.to(dtype_of<T>), wanted, same, rule);
  };
  if (got.dtype() == expected.dtype() && !is_floating(got.dtype()))
    return got.dtype() == DType::boolean ? compare.template operator()<bool>(expected)
                                         : compare.template operator()<int64_t>(expected);
  // Decimals that a float32 was printed as are read as a float32.
  if (got.dtype() == DType::float32 && is_floating(expected.dtype()))
    return compare.template operator()<float>(expected.to(DType::float32));
  return compare.template operator()<double>(expected.to(DType::float64));
}

/// The largest finite |element|, at least 1.
double largest(const Tensor& x) {
  double size = 1;
  for (const double v : x.to(DType::float64).to_vector<double>())
    if (std::isfinite(v)) size = std::max(size, std::abs(v));
  return size;
}

}  // namespace

Verdict compare_expected(const Tensor& got, const Tensor& expected, double atol, double rtol) {
  const std::string rule =
      atol == 0.0 && rtol == 0.0 ? " exactly" : concat(" within ", atol, " + ", rtol, " |expected|");
  return compare_numbers(
      got, expected, [&](double y) { return atol + rtol * y; }, rule);
}

Verdict compare_value(const Tensor& got, const Tensor& expected) {
  return compare_numbers(
      got, expected, [](double y) { return 1e-6 * std::max(1.0, y); }, " within 1e-06 max(1, |expected|)");
}

Verdict compare_bits(const Tensor& got, const Tensor& expected) {
  if (got.dtype() != expected.dtype()) return dtypes_differ(got, expected);
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

Verdict compare_answer(const Tensor& got, const Tensor& expected, double tolerance, const Pardon& pardon) {
  if (!got.defined()) return {kInfinity, "there must be one, got none"};
  const bool is_rounded = got.dtype() == DType::float32 && expected.dtype() == DType::float64;
  if (got.dtype() != expected.dtype() && !is_rounded) return dtypes_differ(got, expected);
  const double scale = is_rounded ? largest(expected.to(DType::float32)) : 1;
  return compare_numbers(
      got, expected, [&](double y) { return tolerance * std::max(scale, y); },
      concat(" within ", tolerance, " max(", scale, ", |expected|)"), pardon);
}

}  // namespace gradus::cases
