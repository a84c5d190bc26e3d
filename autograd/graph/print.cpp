#include "gradus/autograd/graph/print.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <ostream>
#include <string_view>
#include <utility>
#include <vector>

#include "gradus/autograd/graph/node.hpp"

namespace gradus {
namespace {

using autograd::Edge;
using autograd::Node;

template <class T, class... Precision>
std::string text_of(T x, std::chars_format format, Precision... precision) {
  char text[400];  // the largest double has 309 digits before its point
  return {text, std::to_chars(text, text + sizeof text, x, format, precision...).ptr};
}

std::string not_finite(double x) { return std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf"; }

std::string left_padded(const std::string& text, size_t width) {
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

// Weights that are only stored print as their values in float32.
Tensor readable(const Tensor& x) { return is_storage(x.dtype()) ? x.to(DType::float32) : x; }

// The elements that are printed: all, or for more than the threshold, some at each end of a dimension.
class Elements {
 public:
  explicit Elements(const Tensor& x, const PrintOptions& options = {})
      : x_(x), edge_items_(options.edgeitems), is_summarized_(x.numel() > options.threshold) {}

 protected:
  // Statistics of the finite elements that are not 0.
  struct Range {
    double smallest = INFINITY, largest = 0;
    bool whole = true;  // all are integers
  };

  template <class F>
  void visit(int dim, int64_t offset, const F& f) const {
    if (dim == x_.dim()) return f(offset);
    for (const int64_t i : shown(dim)) visit(dim + 1, offset + i * x_.strides()[dim], f);
  }

  Range range() const {
    Range r;
    visit(0, 0, [&](int64_t offset) {
      const double x = number(offset);
      if (!std::isfinite(x) || x == 0) return;
      r.smallest = std::min(r.smallest, std::abs(x));
      r.largest = std::max(r.largest, std::abs(x));
      r.whole = r.whole && x == std::ceil(x);
    });
    return r;
  }

  // text_at(offset) of each entry along dim, with `dots` for those that are omitted.
  template <class F>
  std::vector<std::string> texts(int dim, int64_t offset, const char* dots, const F& text_at) const {
    std::vector<std::string> all;
    for (const int64_t i : shown(dim)) {
      if (is_cut(dim) && std::ssize(all) == edge_items_) all.emplace_back(dots);
      all.push_back(text_at(offset + i * x_.strides()[dim]));
    }
    return all;
  }

  double number(int64_t offset) const {
    return x_.dtype() == DType::float32 ? x_.data<float>()[offset] : x_.data<double>()[offset];
  }

  std::string integer(int64_t offset) const {
    if (x_.dtype() == DType::boolean) return x_.data<bool>()[offset] ? "True" : "False";
    return std::to_string(x_.data<int64_t>()[offset]);
  }

  const Tensor& x_;

 private:
  bool is_cut(int dim) const { return is_summarized_ && x_.shape()[dim] > 2 * edge_items_; }

  std::vector<int64_t> shown(int dim) const {
    std::vector<int64_t> indices;
    for (int64_t i = 0, size = x_.shape()[dim]; i < size; ++i)
      if (!is_cut(dim) || i < edge_items_ || i >= size - edge_items_) indices.push_back(i);
    return indices;
  }

  int64_t edge_items_;
  bool is_summarized_;
};

// -- NumPy

constexpr int kPrecision = 8;  // digits after the point

// A number cut at its point and its exponent: "-1", "25", "e-05".
struct Parts {
  std::string whole, fraction, exponent;
};

Parts cut(const std::string& text) {
  const size_t e = std::min(text.find('e'), text.size()), point = std::min(text.find('.'), e);
  return {text.substr(0, point), point < e ? text.substr(point + 1, e - point - 1) : "", text.substr(e)};
}

// The shortest digits at a fixed point. A large whole number gets zeros after them, where to_chars writes the
// digits of its exact value.
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

// An array without dimensions prints as a number: all digits, exponents further out.
template <class T>
std::string scalar(T x) {
  if (!std::isfinite(x)) return not_finite(x);
  const double a = std::abs(static_cast<double>(x));
  const bool scientific = a != 0 && (a < 1e-4 || a >= 1e16);
  const std::string text = scientific ? text_of(x, std::chars_format::scientific) : fixed(x);
  return scientific || text.find('.') != std::string::npos ? text : text + ".0";
}

class NumpyPrinter : Elements {
 public:
  // Exponents where a fixed point would hide digits; then the width of each part.
  explicit NumpyPrinter(const Tensor& x) : Elements(x) {
    if (!is_floating(x.dtype())) {
      visit(0, 0, [&](int64_t offset) { whole_width_ = std::max(whole_width_, integer(offset).size()); });
      return;
    }
    const Range r = range();
    if (r.largest > 0 && (r.largest >= 1e8 || r.smallest < 1e-4 || r.largest / r.smallest > 1000))
      format_ = std::chars_format::scientific;
    size_t widest = 0;  // of the elements that are not finite
    visit(0, 0, [&](int64_t offset) {
      if (const double value = number(offset); !std::isfinite(value)) {
        widest = std::max(widest, not_finite(value).size());
        return;
      }
      const Parts parts = digits(offset);
      whole_width_ = std::max(whole_width_, parts.whole.size());
      fraction_width_ = std::max(fraction_width_, parts.fraction.size());
      exponent_width_ = std::max(exponent_width_, parts.exponent.size());
    });
    const size_t right = fraction_width_ + 1 + exponent_width_;
    whole_width_ = std::max(whole_width_, widest > right ? widest - right : 0);
  }

  std::string text() const { return nested(0, 0, " ", /*width=*/75); }

 private:
  Parts digits(int64_t offset) const {
    return dispatch_float("print", x_.dtype(),
                          [&]<class T>() { return shortest(x_.data<T>()[offset], format_); });
  }

  std::string cell(int64_t offset) const {
    if (!is_floating(x_.dtype())) return left_padded(integer(offset), whole_width_);
    if (const double x = number(offset); !std::isfinite(x))
      return left_padded(not_finite(x), whole_width_ + 1 + fraction_width_ + exponent_width_);
    Parts parts = digits(offset);
    if (parts.fraction.size() < fraction_width_ && format_ == std::chars_format::scientific)
      parts = cut(text_of(number(offset), format_, static_cast<int>(fraction_width_)));  // digits, not zeros
    parts.fraction.resize(fraction_width_, ' ');
    return left_padded(parts.whole, whole_width_) + "." + parts.fraction + parts.exponent;
  }

  // `indent` is where the lines after the first one start.
  std::string nested(int dim, int64_t offset, const std::string& indent, size_t width) const {
    if (dim == x_.dim()) return cell(offset);
    const bool innermost = dim == x_.dim() - 1;
    const std::vector<std::string> items =
        texts(dim, offset, "...", [&](int64_t at) { return nested(dim + 1, at, indent + " ", width - 1); });
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

  std::chars_format format_ = std::chars_format::fixed;
  size_t whole_width_ = 0, fraction_width_ = 0, exponent_width_ = 0;
};

// -- PyTorch

constexpr size_t kIndent = 7;  // of "tensor("

class TorchPrinter : Elements {
 public:
  // One format for all numbers, chosen by the smallest and largest that are shown.
  TorchPrinter(const Tensor& x, const PrintOptions& options)
      : Elements(x, options),
        precision_(options.precision),
        line_width_(static_cast<size_t>(options.linewidth)) {
    const bool floating = is_floating(x.dtype());
    if (floating) {
      const Range r = range();
      whole_ = r.whole;
      scientific_ = r.largest > 0 &&
                    (r.largest / r.smallest > 1000 || r.largest > 1e8 || (!whole_ && r.smallest < 1e-4));
    }
    visit(0, 0, [&](int64_t offset) {
      if (floating && (number(offset) == 0 || !std::isfinite(number(offset)))) return;
      width_ = std::max(width_, cell(offset).size());
    });
    // After the width: PyTorch computes it for the format that it would choose itself.
    scientific_ = options.sci_mode.value_or(scientific_);
  }

  std::string text() const { return nested(0, 0, kIndent); }

 private:
  // Without padding.
  std::string cell(int64_t offset) const {
    if (!is_floating(x_.dtype())) return integer(offset);
    const double x = number(offset);
    if (!std::isfinite(x)) return not_finite(x);
    if (scientific_) return text_of(x, std::chars_format::scientific, precision_);
    return whole_ ? text_of(x, std::chars_format::fixed, 0) + "."
                  : text_of(x, std::chars_format::fixed, precision_);
  }

  std::string nested(int dim, int64_t offset, size_t indent) const {
    if (dim == x_.dim()) return left_padded(cell(offset), width_);
    const bool innermost = dim == x_.dim() - 1;
    const std::vector<std::string> parts = texts(dim, offset, innermost ? " ..." : "...",
                                                 [&](int64_t at) { return nested(dim + 1, at, indent + 1); });
    const std::string newline = std::string(static_cast<size_t>(innermost ? 1 : x_.dim() - dim - 1), '\n') +
                                std::string(indent + 1, ' ');
    const size_t per_line =
        innermost ? std::max<size_t>(1, (line_width_ - std::min(indent, line_width_)) / (width_ + 2)) : 1;
    std::string text = "[";
    for (size_t i = 0; i < parts.size(); ++i) {
      if (i > 0) text += i % per_line == 0 ? "," + newline : ", ";
      text += parts[i];
    }
    return text + "]";
  }

  bool whole_ = true;  // all numbers are integers
  bool scientific_ = false;
  size_t width_ = 1;
  int precision_;
  size_t line_width_;
};

// PyTorch's name for the node: SoftmaxBackward0 for softmax. Some ops have another name, some several.
std::string backward_name(const Node& node) {
  const bool matrix = node.shape.size() == 2;
  if (node.op == "linear" || node.op == "matmul") {
    const bool biased =
        std::ranges::any_of(node.edges, [](const Edge& edge) { return edge.to->shape.size() == 1; });
    if (node.shape.size() == 1) return biased ? "AddBackward0" : "SqueezeBackward3";
    if (matrix) return biased ? "AddmmBackward0" : "MmBackward0";
    return biased ? "ViewBackward0" : "UnsafeViewBackward0";
  }
  if (node.op == "sum") return node.shape.size() == 0 ? "SumBackward0" : "SumBackward1";
  static constexpr std::pair<std::string_view, const char*> kOthers[] = {
      {"reshape", "ViewBackward0"}, {"contiguous", "CloneBackward0"},
      {"to", "ToCopyBackward0"},    {"layer_norm", "NativeLayerNormBackward0"},
      {"dropout", "MulBackward0"},  {"cross_entropy", "NllLossBackward0"}};
  for (const auto& [op, name] : kOthers)
    if (node.op == op) return name;
  std::string camel;
  bool start = true;
  for (const char c : node.op) {
    if (c != '_') camel += start ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    start = c == '_';
  }
  return camel + "Backward0";
}

std::vector<std::string> torch_suffixes(const Tensor& x, const std::string& grad_fn) {
  std::vector<std::string> all;
  const bool nothing = x.numel() == 0;
  if (nothing && x.dim() != 1) all.push_back(concat("size=", x.shape()));
  const bool whole = x.dtype() == DType::int64 || x.dtype() == DType::boolean;
  const bool obvious = x.dtype() == DType::float32 || (!nothing && whole);
  if (!obvious) all.push_back(concat("dtype=torch.", name(x.dtype())));
  if (!x.requires_grad()) return all;
  const Node& node = *x.impl()->node;
  all.push_back(node.is_leaf() ? "requires_grad=True"
                               : concat("grad_fn=<", grad_fn.empty() ? backward_name(node) : grad_fn, ">"));
  return all;
}

}  // namespace

std::string numpy_string(const Tensor& x) {
  if (!x.defined()) fail("numpy_string", "needs a tensor, got an undefined one.");
  const Tensor values = readable(x);
  if (x.dim() == 0 && values.dtype() == DType::float32) return scalar(values.data<float>()[0]);
  if (x.dim() == 0 && values.dtype() == DType::float64) return scalar(values.data<double>()[0]);
  return NumpyPrinter(values).text();
}

std::string torch_string(const Tensor& x) { return torch_string(x, {}); }

std::string torch_string(const Tensor& x, const PrintOptions& options) {
  if (!x.defined()) return "tensor(undefined)";
  const Tensor values = readable(x);
  std::string text = "tensor(" + (x.numel() == 0 ? "[]" : TorchPrinter(values, options).text());
  const size_t newline = text.rfind('\n');
  size_t last_line = newline == std::string::npos ? text.size() + 2 : text.size() - newline + 1;
  for (const std::string& suffix : torch_suffixes(x, options.grad_fn)) {
    const bool fits = last_line + suffix.size() + 2 <= static_cast<size_t>(options.linewidth);
    text += (fits ? ", " : ",\n" + std::string(kIndent, ' ')) + suffix;
    last_line = suffix.size() + (fits ? last_line + 2 : kIndent);
  }
  return text + ")";
}

std::ostream& operator<<(std::ostream& os, const Tensor& x) {
  if (!x.defined()) return os << "undefined tensor";
  os << numpy_string(x) << "  " << name(x.dtype()) << " " << x.shape();
  if (!x.requires_grad()) return os;
  const Node& node = *x.impl()->node;
  return os << (node.is_leaf() ? ", requires grad" : concat(", from ", node.op));
}

}  // namespace gradus
