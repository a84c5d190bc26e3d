#include "gradus/annexes/cases/compare.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iomanip>
#include <limits>
#include <optional>
#include <sstream>

#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"

namespace gradus::cases {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// |a - b|: 0 for equal elements and for two NaN, infinite if one is NaN, at least 1 for different integers.
template <class T>
double distance(T a, T b) {
  if (a == b || (a != a && b != b)) return 0.0;
  const double d = std::abs(static_cast<double>(a) - static_cast<double>(b));
  if constexpr (std::is_integral_v<T>) return std::max(1.0, d);
  return std::isnan(d) ? kInfinity : d;
}

template <class T>
std::string shown(T x) {
  if (x != x) return "nan";  // without a sign
  return concat(std::boolalpha, std::setprecision(std::numeric_limits<T>::max_digits10), x);
}

/// "element [0, 1]" for element i of a tensor of this shape.
std::string element(int64_t i, const Shape& shape) {
  return shape.empty() ? "the element" : concat("element [", joined(shape.index_of(i)), "]");
}

/// Whether shapes are equal, and all elements pass same(got, expected, distance).
template <class T, class Same>
Verdict compare_elements(const Tensor& got, const Tensor& expected, Same same, const std::string& rule) {
  if (got.shape() != expected.shape())
    return {kInfinity, concat("shape must be ", expected.shape(), ", got ", got.shape())};
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

Verdict dtypes_differ(const Tensor& got, const Tensor& expected) {
  return {kInfinity, concat("dtype must be ", name(expected.dtype()), ", got ", name(got.dtype()))};
}

/// allowed(|expected|) is the tolerance of an element.
Verdict compare_numbers(const Tensor& got, const Tensor& expected,
                        const std::function<double(double)>& allowed, const std::string& rule,
                        const Pardon& pardon = nullptr) {
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
  // The printed decimals of a float32 are read as a float32.
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

// -- printed tensors, character for character

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

/// The form of a number in a text, and its length there.
struct Token {
  size_t length;
  int decimals = 0;
  bool point = false, scientific = false, boolean = false;
};

size_t digits_at(std::string_view text, size_t i) {
  const size_t start = i;
  while (i < text.size() && is_digit(text[i])) ++i;
  return i - start;
}

// 12, -1.50, 2., 1e-05, inf, nan, True; none if no number starts at i.
std::optional<Token> token_at(std::string_view text, size_t i) {
  const size_t start = i;
  Token token{};
  const auto finish = [&](size_t end) -> std::optional<Token> {
    if (end < text.size() && is_word(text[end])) return {};
    token.length = end - start;
    return token;
  };
  for (const std::string_view word : {"True", "False"})
    if (text.substr(i).starts_with(word)) {
      token.boolean = true;
      return finish(i + word.size());
    }
  if (text[i] == '-') ++i;
  for (const std::string_view word : {"inf", "nan"})
    if (text.substr(i).starts_with(word)) return finish(i + word.size());
  const size_t whole = digits_at(text, i);
  if (whole == 0) return {};
  i += whole;
  if (i < text.size() && text[i] == '.') {
    token.point = true;
    token.decimals = static_cast<int>(digits_at(text, i + 1));
    i += 1 + static_cast<size_t>(token.decimals);
  }
  if (i < text.size() && text[i] == 'e') {
    const size_t sign = i + 1 < text.size() && (text[i + 1] == '-' || text[i + 1] == '+') ? 1 : 0;
    token.scientific = true;
    i += 1 + sign + digits_at(text, i + 1 + sign);
  }
  return finish(i);
}

std::string written(double x, const Token& token) {
  if (token.boolean) return x != 0 ? "True" : "False";
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  const char* format = token.scientific ? "%.*e" : "%.*f";
  std::string text(static_cast<size_t>(std::snprintf(nullptr, 0, format, token.decimals, x)), '\0');
  std::snprintf(text.data(), text.size() + 1, format, token.decimals, x);
  return text + (token.point && token.decimals == 0 ? "." : "");
}

/// A text whose numbers are replaced by ours in the same form, and how many numbers it has.
struct Filled {
  std::string text;
  size_t numbers = 0;
};

Filled fill(const Tensor& x, const std::string& layout) {
  const auto values = x.to(DType::float64).to_vector<double>();
  Filled filled;
  const size_t bracket = layout.find('[');
  size_t i = bracket == std::string::npos ? 0 : bracket;  // a label comes before it
  filled.text = layout.substr(0, i);
  while (i < layout.size()) {
    const bool may_start = i == 0 || !is_word(layout[i - 1]);
    const auto token = may_start ? token_at(layout, i) : std::nullopt;
    if (!token) {
      filled.text += layout[i++];
      continue;
    }
    if (filled.numbers < values.size()) filled.text += written(values[filled.numbers], *token);
    ++filled.numbers;
    i += token->length;
  }
  return filled;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string first_difference(const std::string& ours, const std::string& theirs) {
  const auto a = lines_of(ours), b = lines_of(theirs);
  size_t i = 0;
  while (i < a.size() && i < b.size() && a[i] == b[i]) ++i;
  const auto line = [i](const auto& lines) {
    return i < lines.size() ? files::in_quotes(lines[i], 200) : "missing";
  };
  return concat("line ", i + 1, " must be ", line(b), ", got ", line(a));
}

// The text of x in the form of `text`.
Filled printed(const Tensor& x, const std::string& text) {
  const auto with_label = [&](size_t start, const std::string& printed) {
    return Filled{text.substr(0, start) + printed, static_cast<size_t>(x.numel())};
  };
  if (const size_t start = text.find("tensor("); start != std::string::npos)
    return with_label(start, torch_string(x));
  const size_t start = text.find(std::string(static_cast<size_t>(x.dim()), '['));
  if (x.dim() > 0 && start != std::string::npos && text.find(',', start) == std::string::npos)
    return with_label(start, numpy_string(x));
  return fill(x, text);
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
  return dispatch_any(got.dtype(), [&]<class T>() {
    const auto same = [](T x, T y, double) { return std::memcmp(&x, &y, sizeof(T)) == 0; };
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

Verdict compare_text(const Tensor& x, const std::string& text) {
  const Filled ours = printed(x, text);
  const auto count = static_cast<size_t>(x.numel());
  if (ours.numbers != count)
    return {kInfinity,
            concat("the text must have the ", count, " numbers of ", x.shape(), ", got ", ours.numbers)};
  if (ours.text == text) return {};
  return {kInfinity, first_difference(ours.text, text)};
}

}  // namespace gradus::cases
