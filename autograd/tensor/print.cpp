// Printing tensors in PyTorch's layout: see operator<< in tensor.hpp.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus {
namespace {

constexpr int64_t kSummarizeAbove = 1000;  // elements
constexpr int64_t kEdgeItems = 3;          // shown at each end of a summarised dimension
constexpr size_t kLineWidth = 80;
constexpr size_t kIndent = 7;  // of "tensor("

std::string printed(const char* format, double value) {
  char text[400];  // the largest double has 309 digits before its point
  const int length = std::snprintf(text, sizeof text, format, value);
  return std::string(text, static_cast<size_t>(length));
}

class Printer {
 public:
  explicit Printer(const Tensor& tensor) : tensor_(tensor), summarize_(tensor.numel() > kSummarizeAbove) {
    if (is_floating(tensor.dtype()))
      choose_float_format();
    else
      visit(0, 0, [&](int64_t offset) { width_ = std::max(width_, cell(offset).size()); });
  }

  std::string body() const { return block(0, 0, kIndent); }

 private:
  bool is_cut(int dim) const { return summarize_ && tensor_.shape()[dim] > 2 * kEdgeItems; }

  // The indices shown along dim, in order.
  std::vector<int64_t> shown(int dim) const {
    const int64_t size = tensor_.shape()[dim];
    std::vector<int64_t> indices;
    for (int64_t i = 0; i < size; ++i)
      if (!is_cut(dim) || i < kEdgeItems || i >= size - kEdgeItems) indices.push_back(i);
    return indices;
  }

  template <class F>
  void visit(int dim, int64_t offset, const F& f) const {
    if (dim == tensor_.dim()) return f(offset);
    for (const int64_t i : shown(dim)) visit(dim + 1, offset + i * tensor_.strides()[dim], f);
  }

  double number(int64_t offset) const {
    return tensor_.dtype() == DType::float32 ? tensor_.data<float>()[offset] : tensor_.data<double>()[offset];
  }

  // One format for all numbers, chosen by the smallest and largest that are shown.
  void choose_float_format() {
    double smallest = std::numeric_limits<double>::infinity();
    double largest = 0;
    visit(0, 0, [&](int64_t offset) {
      const double x = number(offset);
      if (!std::isfinite(x) || x == 0) return;
      smallest = std::min(smallest, std::abs(x));
      largest = std::max(largest, std::abs(x));
      whole_ = whole_ && x == std::ceil(x);
    });
    if (largest == 0) return;
    scientific_ = largest / smallest > 1000 || largest > 1e8 || (!whole_ && smallest < 1e-4);
    visit(0, 0, [&](int64_t offset) {
      const double x = number(offset);
      if (std::isfinite(x) && x != 0) width_ = std::max(width_, cell(offset).size());
    });
  }

  // Without padding.
  std::string cell(int64_t offset) const {
    if (tensor_.dtype() == DType::boolean) return tensor_.data<bool>()[offset] ? "True" : "False";
    if (tensor_.dtype() == DType::int64) return std::to_string(tensor_.data<int64_t>()[offset]);
    const double x = number(offset);
    if (std::isnan(x)) return "nan";
    if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
    if (scientific_) return printed("%.4e", x);
    return whole_ ? printed("%.0f", x) + "." : printed("%.4f", x);
  }

  std::string padded(int64_t offset) const {
    const std::string text = cell(offset);
    return std::string(width_ > text.size() ? width_ - text.size() : 0, ' ') + text;
  }

  std::string block(int dim, int64_t offset, size_t indent) const {
    if (dim == tensor_.dim()) return padded(offset);
    const bool innermost = dim == tensor_.dim() - 1;
    std::vector<std::string> parts;
    for (const int64_t i : shown(dim)) {
      if (is_cut(dim) && static_cast<int64_t>(parts.size()) == kEdgeItems)
        parts.emplace_back(innermost ? " ..." : "...");
      parts.push_back(block(dim + 1, offset + i * tensor_.strides()[dim], indent + 1));
    }
    const std::string newline =
        std::string(static_cast<size_t>(innermost ? 1 : tensor_.dim() - dim - 1), '\n') +
        std::string(indent + 1, ' ');
    const size_t per_line =
        innermost ? std::max<size_t>(1, (kLineWidth - std::min(indent, kLineWidth)) / (width_ + 2)) : 1;
    std::string text = "[";
    for (size_t i = 0; i < parts.size(); ++i) {
      if (i > 0) text += i % per_line == 0 ? "," + newline : ", ";
      text += parts[i];
    }
    return text + "]";
  }

  const Tensor& tensor_;
  bool summarize_;
  bool whole_ = true;  // all numbers are integers
  bool scientific_ = false;
  size_t width_ = 1;
};

std::vector<std::string> suffixes(const Tensor& tensor) {
  std::vector<std::string> all;
  const bool nothing = tensor.numel() == 0;
  if (nothing && tensor.dim() != 1) all.push_back(concat("size=", tensor.shape()));
  const bool whole = tensor.dtype() == DType::int64 || tensor.dtype() == DType::boolean;
  const bool obvious = tensor.dtype() == DType::float32 || (!nothing && whole);
  if (!obvious) all.push_back(concat("dtype=torch.", name(tensor.dtype())));
  if (tensor.requires_grad()) {
    const std::string grad_fn = tensor.grad_fn_name();
    all.push_back(grad_fn.empty() ? "requires_grad=True" : concat("grad_fn=<", grad_fn, ">"));
  }
  return all;
}

}  // namespace

std::ostream& operator<<(std::ostream& os, const Tensor& tensor) {
  if (!tensor.defined()) return os << "tensor(undefined)";
  const Tensor numbers = tensor.dtype() == DType::bfloat16 ? tensor.to(DType::float32) : tensor;
  const std::string text = "tensor(" + (tensor.numel() == 0 ? "[]" : Printer(numbers).body());
  os << text;
  const size_t newline = text.rfind('\n');
  size_t last_line = newline == std::string::npos ? text.size() + 2 : text.size() - newline + 1;
  for (const std::string& suffix : suffixes(tensor)) {
    if (last_line + suffix.size() + 2 > kLineWidth) {
      os << ",\n" << std::string(kIndent, ' ') << suffix;
      last_line = kIndent + suffix.size();
    } else {
      os << ", " << suffix;
      last_line += suffix.size() + 2;
    }
  }
  return os << ")";
}

}  // namespace gradus
