#include "gradus/autograd/tensor/print_numpy.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "gradus/files/error.hpp"

namespace gradus {
namespace {

constexpr int kPrecision = 8;           // digits after the point
constexpr int64_t kThreshold = 1000;    // elements
constexpr int64_t kNumpyEdgeItems = 3;  // shown at each end of a summarised dimension
constexpr size_t kNumpyLineWidth = 75;

template <class T>
std::string text_of(T x, std::chars_format format) {
  char text[400];  // the largest double has 309 digits before its point
  return {text, std::to_chars(text, text + sizeof text, x, format).ptr};
}

template <class T>
std::string text_of(T x, std::chars_format format, int precision) {
  char text[400];
  return {text, std::to_chars(text, text + sizeof text, x, format, precision).ptr};
}

// A number cut at its point and its exponent: "-1", "25", "e-05".
struct Parts {
  std::string whole, fraction, exponent;
};

Parts cut(const std::string& text) {
  const size_t e = std::min(text.find('e'), text.size()), point = std::min(text.find('.'), e);
  return {text.substr(0, point), point < e ? text.substr(point + 1, e - point - 1) : "", text.substr(e)};
}

// The shortest digits at a fixed point. A large whole number gets zeros after them, where to_chars would go
// on with the digits of its exact value.
template <class T>
std::string fixed(T x) {
  const std::string plain = text_of(x, std::chars_format::fixed);
  if (plain.find('.') != std::string::npos) return plain;
  const Parts parts = cut(text_of(x, std::chars_format::scientific));
  return parts.whole + parts.fraction +
         std::string(plain.size() - parts.whole.size() - parts.fraction.size(), '0');
}

// The shortest digits, or kPrecision of them if that is fewer, without zeros at the end.
template <class T>
Parts shortest(T x, std::chars_format format) {
  Parts parts = cut(format == std::chars_format::fixed ? fixed(x) : text_of(x, format));
  if (parts.fraction.size() <= kPrecision) return parts;
  parts = cut(text_of(x, format, kPrecision));
  parts.fraction.erase(parts.fraction.find_last_not_of('0') + 1);
  return parts;
}

std::string spaces(size_t n) { return std::string(n, ' '); }

std::string left_padded(const std::string& text, size_t width) {
  return spaces(width > text.size() ? width - text.size() : 0) + text;
}

// An array without dimensions prints as a number does: all digits, exponents further out.
template <class T>
std::string scalar(T x) {
  if (!std::isfinite(x)) return std::isnan(x) ? "nan" : x < 0 ? "-inf" : "inf";
  const double a = std::abs(static_cast<double>(x));
  const bool scientific = a != 0 && (a < 1e-4 || a >= 1e16);
  const std::string text = scientific ? text_of(x, std::chars_format::scientific) : fixed(x);
  return scientific || text.find('.') != std::string::npos ? text : text + ".0";
}

class NumpyPrinter {
 public:
  explicit NumpyPrinter(const Tensor& x) : x_(x), summarize_(x.numel() > kThreshold) {
    if (is_floating(x.dtype()))
      x.dtype() == DType::float32 ? choose_format<float>() : choose_format<double>();
    else
      visit(0, 0, [&](int64_t offset) { whole_width_ = std::max(whole_width_, integer(offset).size()); });
  }

  std::string text() const { return block(0, 0, " ", kNumpyLineWidth); }

 private:
  bool is_cut(int dim) const { return summarize_ && x_.shape()[dim] > 2 * kNumpyEdgeItems; }

  template <class F>
  void visit(int dim, int64_t offset, const F& f) const {
    if (dim == x_.dim()) return f(offset);
    for (int64_t i = 0; i < x_.shape()[dim]; ++i)
      if (!is_cut(dim) || i < kNumpyEdgeItems || i >= x_.shape()[dim] - kNumpyEdgeItems)
        visit(dim + 1, offset + i * x_.strides()[dim], f);
  }

  // Exponents where a fixed point would hide digits; then the width of each part.
  template <class T>
  void choose_format() {
    double smallest = INFINITY, largest = 0;
    bool finite = true, negative_infinity = false;
    visit(0, 0, [&](int64_t offset) {
      const T v = x_.data<T>()[offset];
      const double a = std::abs(static_cast<double>(v));
      if (!std::isfinite(v)) {
        finite = false;
        negative_infinity = negative_infinity || v < 0;
      } else if (a != 0) {
        smallest = std::min(smallest, a);
        largest = std::max(largest, a);
      }
    });
    if (largest > 0 && (largest >= 1e8 || smallest < 1e-4 || largest / smallest > 1000))
      format_ = std::chars_format::scientific;
    visit(0, 0, [&](int64_t offset) {
      const T v = x_.data<T>()[offset];
      if (!std::isfinite(v)) return;
      const Parts parts = shortest(v, format_);
      whole_width_ = std::max(whole_width_, parts.whole.size());
      fraction_width_ = std::max(fraction_width_, parts.fraction.size());
      exponent_width_ = std::max(exponent_width_, parts.exponent.size());
    });
    if (!finite) {
      const size_t widest = negative_infinity ? 4 : 3, right = fraction_width_ + 1 + exponent_width_;
      whole_width_ = std::max(whole_width_, widest > right ? widest - right : 0);
    }
  }

  std::string integer(int64_t offset) const {
    if (x_.dtype() == DType::boolean) return x_.data<bool>()[offset] ? "True" : "False";
    return std::to_string(x_.data<int64_t>()[offset]);
  }

  template <class T>
  std::string number(T v) const {
    if (!std::isfinite(v))
      return left_padded(std::isnan(v) ? "nan"
                         : v < 0       ? "-inf"
                                       : "inf",
                         whole_width_ + 1 + fraction_width_ + exponent_width_);
    Parts parts = shortest(v, format_);
    if (parts.fraction.size() < fraction_width_ && format_ == std::chars_format::scientific)
      parts = cut(text_of(v, format_, static_cast<int>(fraction_width_)));  // more digits, not zeros
    parts.fraction.resize(fraction_width_, ' ');
    return left_padded(parts.whole, whole_width_) + "." + parts.fraction + parts.exponent;
  }

  std::string cell(int64_t offset) const {
    if (x_.dtype() == DType::float32) return number(x_.data<float>()[offset]);
    if (x_.dtype() == DType::float64) return number(x_.data<double>()[offset]);
    return left_padded(integer(offset), whole_width_);
  }

  // `indent` is where the lines after the first one start.
  std::string block(int dim, int64_t offset, const std::string& indent, size_t width) const {
    if (dim == x_.dim()) return cell(offset);
    const bool innermost = dim == x_.dim() - 1;
    std::vector<std::string> items;
    for (int64_t i = 0; i < x_.shape()[dim]; ++i) {
      if (is_cut(dim) && i == kNumpyEdgeItems) {
        items.emplace_back("...");
        i = x_.shape()[dim] - kNumpyEdgeItems;
      }
      items.push_back(block(dim + 1, offset + i * x_.strides()[dim], indent + " ", width - 1));
    }
    std::string text, line;
    for (size_t i = 0; i < items.size(); ++i) {
      if (!innermost) {
        if (i > 0) text += std::string(static_cast<size_t>(x_.dim() - dim - 1), '\n') + indent;
        text += items[i];
        continue;
      }
      if (!line.empty() && indent.size() + line.size() + items[i].size() > width - 1) {
        text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n" + indent;
        line.clear();
      }
      line += items[i] + (i + 1 < items.size() ? " " : "");
    }
    return concat("[", text, line, "]");
  }

  const Tensor& x_;
  bool summarize_;
  std::chars_format format_ = std::chars_format::fixed;
  size_t whole_width_ = 0, fraction_width_ = 0, exponent_width_ = 0;
};

}  // namespace

std::string numpy_string(const Tensor& x) {
  if (!x.defined()) fail("numpy_string", "needs a tensor, got an undefined one.");
  if (x.dtype() == DType::bfloat16) return numpy_string(x.to(DType::float32));
  if (x.dim() == 0 && x.dtype() == DType::float32) return scalar(x.data<float>()[0]);
  if (x.dim() == 0 && x.dtype() == DType::float64) return scalar(x.data<double>()[0]);
  return NumpyPrinter(x).text();
}

}  // namespace gradus
