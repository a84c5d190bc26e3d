#include "gradus/autograd/gradcheck/smallest.hpp"

#include <chrono>
#include <cmath>
#include <optional>
#include <set>
#include <span>

#include "gradus/autograd/gradcheck/function.hpp"
#include "gradus/autograd/ops/ops.hpp"

namespace gradus::gradchecking {
namespace {

using Clock = std::chrono::steady_clock;
using Tensors = std::vector<Tensor>;

constexpr std::chrono::seconds kLongest{2};
constexpr size_t kMostShown = 16;  // elements of an input in the message

Tensor like(const Tensor& x, Tensor changed) {
  return x.requires_grad() ? changed.detach().requires_grad_() : changed;
}

class Shrinking {
 public:
  Shrinking(const GradcheckFunction& f, const Tensors& inputs, const GradcheckOptions& options,
            const GradcheckReport& report)
      : f_(f),
        options_(options),
        inputs_(inputs),
        is_finite_(std::isfinite(report.worst)),
        tries_(options.shrinking) {
    options_.directions = 1;
    options_.shrinking = 0;
    options_.inspect = nullptr;
  }

  /// The check of the smallest inputs, which inputs() gives; none if no others fail.
  std::optional<GradcheckReport> run() {
    while (options_.any_shape && shrink()) {
    }
    for (size_t i = 0; i < inputs_.size(); ++i) simplify(i);
    return std::move(found_);
  }
  const Tensors& inputs() const { return inputs_; }

 private:
  // Whether these fail in the same way; they are kept then.
  bool fails(const Tensors& inputs) {
    if (++tried_ > tries_ || Clock::now() - start_ > kLongest) return false;
    try {
      GradcheckReport report = gradcheck(f_, inputs, options_);
      if (!report.is_wrong || std::isfinite(report.worst) != is_finite_ ||
          report.cause.starts_with("the function itself"))
        return false;
      found_ = std::move(report);
    } catch (const Error&) {  // f refuses them
      return false;
    }
    inputs_ = inputs;
    return true;
  }

  // Cuts all dims of a size, or one dim, to one element, or to half.
  bool shrink() {
    std::set<int64_t> sizes;
    for (const Tensor& x : inputs_)
      for (const int64_t size : x.shape()) sizes.insert(size);
    for (const int64_t size : sizes)
      for (const int64_t less : {int64_t{1}, size / 2, size - 1}) {
        if (less < 1 || less >= size) continue;
        for (const int64_t from : {int64_t{0}, size - less}) {
          Tensors all = inputs_;
          for (size_t i = 0; i < all.size(); ++i)
            for (int d = 0; d < inputs_[i].dim(); ++d) {
              if (inputs_[i].size(d) != size) continue;
              Tensors one = inputs_;
              one[i] = like(one[i], one[i].slice(d, from, from + less));
              all[i] = like(all[i], all[i].slice(d, from, from + less));
              if (fails(one)) return true;
            }
          if (fails(all)) return true;
        }
      }
    return false;
  }

  // Sets all elements of an input, or else each alone, to 0 or 1.
  void simplify(size_t i) {
    if (!is_floating(inputs_[i].dtype())) return;
    const auto with = [&](const Numbers& values) {
      Tensors inputs = inputs_;
      inputs[i] = like(inputs[i], unflatten(values, {inputs[i]})[0]);
      return fails(inputs);
    };
    const size_t n = static_cast<size_t>(inputs_[i].numel());
    if (with(Numbers(n, 0.0)) || with(Numbers(n, 1.0))) return;
    for (size_t j = 0; n > 1 && j < n; ++j)
      for (const double simple : {0.0, 1.0}) {
        Numbers values = flatten({inputs_[i]});
        values[j] = simple;
        if (with(values)) break;
      }
  }

  const GradcheckFunction& f_;
  GradcheckOptions options_;
  Tensors inputs_;
  bool is_finite_;
  int tries_, tried_ = 0;
  Clock::time_point start_ = Clock::now();
  std::optional<GradcheckReport> found_;
};

std::string text(const Tensor& x) {
  const Numbers values = x.to(DType::float64).to_vector<double>();
  const auto shown = std::span(values).first(std::min(values.size(), kMostShown));
  return concat(x.shape(), " [", joined(shown), values.size() > kMostShown ? ", ...]" : "]");
}

}  // namespace

void find_smallest(const GradcheckFunction& f, const std::vector<Tensor>& inputs,
                   const GradcheckOptions& options, GradcheckReport& report) {
  Shrinking search(f, inputs, options, report);
  const std::optional<GradcheckReport> found = search.run();
  if (!found) return;
  report.smallest = search.inputs();
  for (size_t i = 0; i < report.smallest.size(); ++i)
    report.smallest_message += concat(i == 0 ? "" : ", ", "input ", i, " ", text(report.smallest[i]));
  report.smallest_message += ": " + found->message;
  report.message += "; simplest failing input: " + report.smallest_message;
}

}  // namespace gradus::gradchecking
