#include "gradus/autograd/gradcheck.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "gradus/autograd/backward.hpp"
#include "gradus/autograd/error.hpp"
#include "gradus/autograd/ops.hpp"
#include "gradus/autograd/random.hpp"
#include "gradus/autograd/record.hpp"

namespace gradus {
namespace {

// Several results, because the gradient of a function of several inputs has several.
using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
using Numbers = std::vector<double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool same_bits(const Numbers& a, const Numbers& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

Numbers flatten(const std::vector<Tensor>& tensors) {
  Numbers all;
  for (const Tensor& t : tensors) {
    const Numbers one = t.to_vector<double>();
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

// The inverse of flatten, given tensors of the shapes wanted.
std::vector<Tensor> unflatten(const Numbers& all, const std::vector<Tensor>& like) {
  std::vector<Tensor> tensors;
  auto from = all.begin();
  for (const Tensor& t : like) {
    tensors.push_back(tensor(Numbers(from, from + t.numel()), t.shape()));
    from += t.numel();
  }
  return tensors;
}

Shape position(int64_t flat, const Shape& shape) {
  Shape at = shape;
  for (int d = shape.size() - 1; d >= 0; --d) {
    at[d] = flat % shape[d];
    flat /= shape[d];
  }
  return at;
}

bool shares_storage(const Tensor& t, const std::vector<Tensor>& others) {
  return std::any_of(others.begin(), others.end(),
                     [&](const Tensor& other) { return other.impl()->storage == t.impl()->storage; });
}

// grad(), with zeros for what does not depend.
std::vector<Tensor> gradients(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                              const std::vector<Tensor>& cotangents, bool create_graph) {
  std::vector<Tensor> attached;
  GradOptions options{.create_graph = create_graph, .retain_graph = true, .allow_unused = true};
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].requires_grad()) continue;
    attached.push_back(outputs[i]);
    options.grad_outputs.push_back(cotangents[i]);
  }
  std::vector<Tensor> result(inputs.size());
  if (!attached.empty()) result = grad(attached, inputs, options);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!result[i].defined()) result[i] = zeros(inputs[i].shape(), inputs[i].dtype());
  return result;
}

std::vector<Tensor> choose(const std::vector<Tensor>& tensors, const std::vector<size_t>& which) {
  std::vector<Tensor> chosen;
  for (const size_t i : which) chosen.push_back(tensors[i]);
  return chosen;
}

// (inputs..., cotangents...) -> gradients of f. Recorded if an argument requires a gradient; plain numbers
// come from the fast path without create_graph, so that each path is measured against the other.
Function gradient_of(const Function& f, size_t input_count, const std::vector<size_t>& checked) {
  return [=](const std::vector<Tensor>& arguments) {
    const auto middle = arguments.begin() + static_cast<std::ptrdiff_t>(input_count);
    std::vector<Tensor> inputs(arguments.begin(), middle);
    bool recorded = false;
    for (const Tensor& a : arguments) recorded = recorded || a.requires_grad();
    for (const size_t i : checked)
      if (!inputs[i].requires_grad()) inputs[i] = inputs[i].detach().requires_grad_();
    return gradients(f(inputs), choose(inputs, checked), {middle, arguments.end()}, recorded);
  };
}

class Check {
 public:
  Check(const GradcheckOptions& options, GradcheckReport& report)
      : options_(options), report_(report), generator_(options.seed) {}

  // `f` at order 1; its gradient at order 2.
  void run(int order, const Function& f, const std::vector<Tensor>& inputs,
           const std::vector<size_t>& checked) {
    order_ = order;
    f_ = f;
    checked_ = checked;
    inputs_.clear();
    for (const Tensor& x : inputs) inputs_.push_back(x.detach());
    std::vector<Tensor> leaves = inputs_;
    for (const size_t i : checked_) leaves[i] = leaves[i].detach().requires_grad_();
    wanted_ = choose(leaves, checked_);
    outputs_ = f_(leaves);
    bool depends = false;
    for (const Tensor& y : outputs_) depends = depends || y.requires_grad();
    require(depends, "the result requires no gradient");
    require(same_bits(flatten(f_(leaves)), flatten(outputs_)),
            "two calls gave different values: draw random numbers from a generator made inside the function");
    check_form();
    for (int k = 0; k < options_.directions; ++k) check_directions();
    check_elements();
  }

  // What order 2 differentiates at: random cotangents of the outputs that run() saw.
  std::vector<Tensor> cotangents() { return unflatten(random_cotangent(), outputs_); }

  void require(bool holds, const std::string& what) {
    note(holds ? 0 : kInfinity, [&] { return what; });
  }

 private:
  template <class Describe>
  void note(double ratio, const Describe& describe) {
    ++report_.checks;
    if (!std::isfinite(ratio)) ratio = kInfinity;
    if (ratio <= report_.worst) return;
    report_.worst = ratio;
    if (ratio > 1) report_.message = concat("order ", order_, ": ", describe(), "; seed ", options_.seed);
  }

  Numbers random_cotangent() {
    Numbers v(flatten(outputs_).size());
    for (double& e : v) e = generator_.normal();
    return v;
  }

  std::vector<Tensor> analytic(const Numbers& cotangent) {
    return gradients(outputs_, wanted_, unflatten(cotangent, outputs_), /*create_graph=*/false);
  }

  // All that can be asked of gradients without numerical differences.
  void check_form() {
    const Numbers v = random_cotangent();
    const std::vector<Tensor> cotangents = unflatten(v, outputs_);
    const std::vector<Tensor> g = gradients(outputs_, wanted_, cotangents, false);
    for (size_t k = 0; k < g.size(); ++k) {
      const Tensor& x = wanted_[k];
      require(g[k].shape() == x.shape() && g[k].dtype() == x.dtype(),
              concat("input ", checked_[k], ": the gradient is ", name(g[k].dtype()), " ", g[k].shape(),
                     ", the input ", name(x.dtype()), " ", x.shape()));
      require(!shares_storage(g[k], cotangents) && !shares_storage(g[k], wanted_) &&
                  !shares_storage(g[k], outputs_) &&
                  !shares_storage(g[k], {g.begin(), g.begin() + static_cast<std::ptrdiff_t>(k)}),
              concat("input ", checked_[k], ": the gradient shares storage with another tensor"));
    }
    require(same_bits(flatten(g), flatten(analytic(v))), "two backward passes gave different gradients");
    const Numbers zero = flatten(analytic(Numbers(v.size(), 0.0)));
    require(std::all_of(zero.begin(), zero.end(), [](double e) { return e == 0; }),
            "a zero cotangent gave a gradient that is not zero");
    if (options_.order >= 2) check_paths(cotangents, g);
  }

  // A rule may hold a fast kernel and a recorded formula: they must be the same function.
  void check_paths(const std::vector<Tensor>& cotangents, const std::vector<Tensor>& plain) {
    const std::vector<Tensor> recorded = gradients(outputs_, wanted_, cotangents, /*create_graph=*/true);
    for (size_t k = 0; k < plain.size(); ++k) {
      const Numbers a = plain[k].to_vector<double>();
      const Numbers b = recorded[k].to_vector<double>();
      for (size_t j = 0; j < a.size(); ++j)
        compare(b[j], a[j], std::abs(a[j]), [&] {
          return concat("input ", checked_[k], " at ", position(static_cast<int64_t>(j), wanted_[k].shape()),
                        ", with create_graph (first number) and without (second)");
        });
    }
  }

  // Numbers that are not finite never pass.
  template <class Where>
  void compare(double numeric, double analytic, double magnitude, const Where& where) {
    const double error = std::abs(numeric - analytic);
    note(error / (options_.tolerance * (1 + magnitude)),
         [&] { return concat(where(), ": numeric ", numeric, ", analytic ", analytic, ", error ", error); });
  }

  static double scale(double x) { return std::max(std::abs(x), 0.01); }

  // (f(x + eps u) - f(x - eps u)) / (2 eps), of input `i` along u.
  Numbers difference(size_t i, const Numbers& u) const {
    const Numbers x = inputs_[i].to_vector<double>();
    const auto values = [&](double step) {
      Numbers moved = x;
      for (size_t j = 0; j < x.size(); ++j) moved[j] += step * u[j];
      std::vector<Tensor> inputs = inputs_;
      inputs[i] = tensor(moved, inputs_[i].shape());
      return flatten(f_(inputs));
    };
    const Numbers above = values(options_.eps);
    Numbers d = values(-options_.eps);
    for (size_t j = 0; j < d.size(); ++j) d[j] = (above[j] - d[j]) / (2 * options_.eps);
    return d;
  }

  static double dot(const Numbers& a, const Numbers& b) {
    double sum = 0;
    for (size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
    return sum;
  }

  void check_directions() {
    const Numbers v = random_cotangent();
    const std::vector<Tensor> g = analytic(v);
    for (size_t k = 0; k < checked_.size(); ++k) {
      const Numbers x = inputs_[checked_[k]].to_vector<double>();
      const Numbers gx = g[k].to_vector<double>();
      Numbers u(x.size());
      double magnitude = 0;
      for (size_t j = 0; j < x.size(); ++j) {
        u[j] = generator_.normal() * scale(x[j]);
        magnitude += std::abs(gx[j] * u[j]);
      }
      compare(dot(v, difference(checked_[k], u)), dot(gx, u), magnitude,
              [&] { return concat("input ", checked_[k], " along a random direction"); });
    }
  }

  // Says where an error is: one input element at a time, and one output element too where there are few.
  void check_elements() {
    const auto output_count = static_cast<int64_t>(flatten(outputs_).size());
    const bool all_outputs = output_count <= options_.elementwise;
    std::vector<Numbers> steps(checked_.size());
    std::vector<std::vector<Numbers>> columns(checked_.size());
    for (size_t k = 0; k < checked_.size(); ++k) {
      const Tensor& x = inputs_[checked_[k]];
      if (x.numel() > options_.elementwise) continue;
      for (const double e : x.to_vector<double>()) steps[k].push_back(scale(e));
      for (size_t j = 0; j < steps[k].size(); ++j) {
        Numbers u(steps[k].size(), 0.0);
        u[j] = steps[k][j];
        columns[k].push_back(difference(checked_[k], u));
      }
    }
    for (int64_t row = 0; row < (all_outputs ? output_count : 1); ++row) {
      Numbers v = all_outputs ? Numbers(static_cast<size_t>(output_count), 0.0) : random_cotangent();
      if (all_outputs) v[static_cast<size_t>(row)] = 1;
      const std::vector<Tensor> g = analytic(v);
      for (size_t k = 0; k < checked_.size(); ++k) {
        const Numbers gx = g[k].to_vector<double>();
        for (size_t j = 0; j < columns[k].size(); ++j) {
          const double along = gx[j] * steps[k][j];
          compare(dot(v, columns[k][j]), along, std::abs(along), [&] {
            return concat("input ", checked_[k], " at ", position(static_cast<int64_t>(j), g[k].shape()),
                          all_outputs ? concat(", output element ", row) : "");
          });
        }
      }
    }
  }

  const GradcheckOptions& options_;
  GradcheckReport& report_;
  Generator generator_;
  int order_ = 1;
  Function f_;
  std::vector<size_t> checked_;  // which inputs
  std::vector<Tensor> inputs_;   // plain
  std::vector<Tensor> wanted_;   // the checked ones, as leaves
  std::vector<Tensor> outputs_;  // of f_ at the leaves
};

std::vector<size_t> inputs_to_check(const std::vector<Tensor>& inputs) {
  std::vector<size_t> asked, floating;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& x = inputs[i];
    if (!x.defined()) fail("gradcheck", "needs defined inputs, input ", i, " is not.");
    if (x.dtype() == DType::float32)
      fail("gradcheck", "needs float64 inputs, input ", i,
           " is float32. Hint: convert it with to(DType::float64).");
    if (x.requires_grad()) asked.push_back(i);
    if (is_floating(x.dtype())) floating.push_back(i);
  }
  if (floating.empty())
    fail("gradcheck", "needs a float64 input to check, got none among ", inputs.size(), ".");
  return asked.empty() ? floating : asked;
}

}  // namespace

GradcheckReport gradcheck(const GradcheckFunction& f, const std::vector<Tensor>& inputs,
                          const GradcheckOptions& options) {
  if (options.order != 1 && options.order != 2)
    fail("gradcheck", "order must be 1 or 2, got ", options.order, ".");
  if (!(options.eps > 0) || !(options.tolerance > 0) || options.directions < 1)
    fail("gradcheck", "needs eps, tolerance and directions above 0, got ", options.eps, ", ",
         options.tolerance, " and ", options.directions, ".");
  const std::vector<size_t> checked = inputs_to_check(inputs);
  const GradMode recording(true);
  const Function first = [&](const std::vector<Tensor>& x) {
    Tensor y = f(x);
    if (!y.defined() || y.dtype() != DType::float64)
      fail("gradcheck", "needs a float64 result, got ", y.defined() ? name(y.dtype()) : "none", ".");
    return std::vector<Tensor>{std::move(y)};
  };

  std::vector<Tensor> arguments;
  for (const Tensor& x : inputs) arguments.push_back(x.detach());
  first(arguments);  // errors of f itself are the caller's

  GradcheckReport report;
  Check check(options, report);
  try {
    check.run(1, first, arguments, checked);
    if (options.order == 2) {
      std::vector<size_t> all = checked;
      for (const Tensor& v : check.cotangents()) {
        all.push_back(arguments.size());
        arguments.push_back(v);
      }
      check.run(2, gradient_of(first, inputs.size(), checked), arguments, all);
    }
  } catch (const Error& e) {
    check.require(false, e.what());
  }
  report.passed = report.checks > 0 && report.worst <= 1;
  return report;
}

}  // namespace gradus
