#include "gradus/autograd/gradcheck/check.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gradus/autograd/gradcheck/cause.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/files/error.hpp"

namespace gradus::gradchecking {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kExplained =
    256;  // elements up to which the right gradient is worked out to explain a wrong one

double scale(double x) { return std::max(std::abs(x), 0.01); }

bool shares_storage(const Tensor& t, const std::vector<Tensor>& others) {
  return std::any_of(others.begin(), others.end(),
                     [&](const Tensor& other) { return other.impl()->storage == t.impl()->storage; });
}

// The values of x at every second place of a larger tensor.
Tensor with_gaps(const Tensor& x) {
  Shape larger = x.shape();
  larger[larger.size() - 1] = 2 * larger.back();
  const Tensor view = full(larger, 7.0, x.dtype()).slice(-1, 0, larger.back(), 2);
  Tensor target = view.detach();
  target.copy_(x);
  return target;
}

}  // namespace

void Check::run(int order, const Function& f, const std::vector<Tensor>& inputs,
                const std::vector<size_t>& checked) {
  order_ = order;
  f_ = f;
  checked_ = checked;
  blamed_ = kWhole;
  failed_ = false;
  inputs_.clear();
  wanted_.clear();
  first_ = report_.inputs.size();
  for (const Tensor& x : inputs) inputs_.push_back(x.detach());
  std::vector<Tensor> leaves = inputs_;
  for (const size_t i : checked_) {
    leaves[i] = leaves[i].detach().requires_grad_();
    wanted_.push_back(leaves[i]);
    report_.inputs.push_back({.input = i, .order = order});
  }
  outputs_ = f_(leaves);
  const bool depends =
      std::any_of(outputs_.begin(), outputs_.end(), [](const Tensor& y) { return y.requires_grad(); });
  require(depends, "the result requires no gradient");
  const bool repeats = same_bits(flatten(f_(leaves)), flatten(outputs_));
  require(repeats,
          "two calls gave different values: draw random numbers from a generator made inside the function");
  check_form();
  for (int k = 0; k < options_.directions; ++k) check_directions();
  check_elements();
  if (order == 1) check_layouts();
  if (repeats) explain();
}

void Check::require(bool holds, const std::string& what) { require(holds, kWhole, what); }

void Check::require(bool holds, size_t k, const std::string& what) {
  note(holds ? 0 : kInfinity, k, [&] { return what; });
}

template <class Describe>
void Check::note(double ratio, size_t k, const Describe& describe) {
  ++report_.checks;
  if (!std::isfinite(ratio)) ratio = kInfinity;
  if (k != kWhole) report_.inputs[first_ + k].worst = std::max(report_.inputs[first_ + k].worst, ratio);
  if (ratio <= report_.worst) return;
  report_.worst = ratio;
  if (ratio <= 1) return;
  failed_ = true;
  blamed_ = k;
  report_.message = concat("order ", order_, ": ", describe(), "; seed ", options_.seed);
}

// Numbers that are not finite never pass.
template <class Where>
void Check::compare(double numeric, double analytic, double magnitude, size_t k, const Where& where) {
  const double error = std::abs(numeric - analytic);
  const double ratio = error / (options_.tolerance * (1 + magnitude));
  GradcheckInput& input = report_.inputs[first_ + k];
  if (!(ratio <= input.worst)) {
    input.where = where();
    input.numeric = numeric;
    input.analytic = analytic;
  }
  note(ratio, k,
       [&] { return concat(where(), ": numeric ", numeric, ", analytic ", analytic, ", error ", error); });
}

Numbers Check::random_cotangent() {
  Numbers v(flatten(outputs_).size());
  for (double& e : v) e = generator_.normal();
  return v;
}

std::vector<Tensor> Check::analytic(const Numbers& cotangent) const {
  return gradients(outputs_, wanted_, unflatten(cotangent, outputs_), /*create_graph=*/false);
}

// All that can be asked of gradients without numerical differences.
void Check::check_form() {
  const Numbers v = random_cotangent();
  const std::vector<Tensor> cotangents = unflatten(v, outputs_);
  const std::vector<Tensor> g = gradients(outputs_, wanted_, cotangents, false);
  for (size_t k = 0; k < g.size(); ++k) {
    const Tensor& x = wanted_[k];
    require(g[k].shape() == x.shape() && g[k].dtype() == x.dtype(), k,
            concat("input ", checked_[k], ": the gradient is ", name(g[k].dtype()), " ", g[k].shape(),
                   ", the input ", name(x.dtype()), " ", x.shape()));
    require(!shares_storage(g[k], cotangents) && !shares_storage(g[k], wanted_) &&
                !shares_storage(g[k], outputs_) &&
                !shares_storage(g[k], {g.begin(), g.begin() + static_cast<std::ptrdiff_t>(k)}),
            k, concat("input ", checked_[k], ": the gradient shares storage with another tensor"));
  }
  require(same_bits(flatten(g), flatten(analytic(v))), "two backward passes gave different gradients");
  const Numbers zero = flatten(analytic(Numbers(v.size(), 0.0)));
  require(std::all_of(zero.begin(), zero.end(), [](double e) { return e == 0; }),
          "a zero cotangent gave a gradient that is not zero");
  if (options_.order >= 2) check_paths(cotangents, g);
}

// A rule may hold a fast kernel and a recorded formula: they must be the same function.
void Check::check_paths(const std::vector<Tensor>& cotangents, const std::vector<Tensor>& plain) {
  const std::vector<Tensor> recorded = gradients(outputs_, wanted_, cotangents, /*create_graph=*/true);
  for (size_t k = 0; k < plain.size(); ++k) {
    const Numbers a = plain[k].to_vector<double>();
    const Numbers b = recorded[k].to_vector<double>();
    for (size_t j = 0; j < a.size(); ++j)
      compare(b[j], a[j], std::abs(a[j]), k, [&] {
        return concat("input ", checked_[k], " at ", wanted_[k].shape().index_of(static_cast<int64_t>(j)),
                      ", with create_graph (first number) and without (second)");
      });
  }
}

// The same numbers with gaps between them, and one slice repeated without copies, must mean the same.
void Check::check_layouts() {
  for (size_t k = 0; k < checked_.size(); ++k) {
    const Tensor& x = inputs_[checked_[k]];
    if (x.dim() == 0 || x.numel() == 0) continue;
    check_layout(k, "with gaps between its elements", x, with_gaps(x));
    const Tensor repeated = x.slice(0, 0, 1).expand(x.shape());
    if (x.size(0) > 1) check_layout(k, "expanded along dim 0", repeated.contiguous(), repeated);
  }
}

void Check::check_layout(size_t k, const std::string& layout, const Tensor& packed, const Tensor& view) {
  const auto run = [&](const Tensor& x, std::vector<Tensor>& outputs, std::vector<Tensor>& gradient,
                       uint64_t seed) {
    std::vector<Tensor> inputs = inputs_;
    inputs[checked_[k]] = x.detach().requires_grad_();
    outputs = f_(inputs);
    Generator generator(seed);
    std::vector<Tensor> v;
    for (const Tensor& y : outputs) v.push_back(randn(y.shape(), generator, DType::float64));
    gradient = gradients(outputs, {inputs[checked_[k]]}, v, /*create_graph=*/false);
  };
  std::vector<Tensor> y, g, y_view, g_view;
  try {
    run(packed, y, g, options_.seed);
  } catch (const Error&) {
    return;  // an expanded input may be one that f refuses
  }
  run(view, y_view, g_view, options_.seed);
  const auto agree = [](const Numbers& a, const Numbers& b) {
    double size = 1;
    for (const double e : a) size = std::max(size, std::abs(e));
    for (size_t j = 0; j < a.size(); ++j)
      if (!(std::abs(a[j] - b[j]) <= 1e-10 * size) && !(std::isnan(a[j]) && std::isnan(b[j])) && a[j] != b[j])
        return false;
    return a.size() == b.size();
  };
  require(agree(flatten(y), flatten(y_view)), k,
          concat("input ", checked_[k], " ", layout, " gives another value: strides are ignored"));
  require(agree(flatten(g), flatten(g_view)), k,
          concat("input ", checked_[k], " ", layout, " gives another gradient: strides are ignored"));
}

// (f(x + eps u) - f(x - eps u)) / (2 eps), of input `i` along u.
Numbers Check::difference(size_t i, const Numbers& u) const {
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

void Check::check_directions() {
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
    compare(dot(v, difference(checked_[k], u)), dot(gx, u), magnitude, k,
            [&] { return concat("input ", checked_[k], " along a random direction"); });
  }
}

// Says where an error is: one input element at a time, and one output element too where there are few.
void Check::check_elements() {
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
        compare(dot(v, columns[k][j]), along, std::abs(along), k, [&] {
          return concat("input ", checked_[k], " at ", g[k].shape().index_of(static_cast<int64_t>(j)),
                        all_outputs ? concat(", output element ", row) : "");
        });
      }
    }
  }
}

// Adds the likely cause to the message, if the worst failure is of this run: for the input it is about, or
// the one that is furthest off.
void Check::explain() {
  if (!failed_) return;
  size_t k = blamed_;
  for (size_t j = 0; k == kWhole && j < checked_.size(); ++j)
    if (report_.inputs[first_ + j].worst > 1) k = j;
  if (k == kWhole || wanted_[k].numel() > kExplained) return;
  const size_t input = checked_[k];
  const Numbers x = inputs_[input].to_vector<double>();
  std::vector<Numbers> columns;
  for (size_t j = 0; j < x.size(); ++j) {
    Numbers u(x.size(), 0.0);
    u[j] = scale(x[j]);
    columns.push_back(difference(input, u));
  }
  Evidence evidence;
  evidence.input = wanted_[k].shape();
  evidence.cotangent = random_cotangent();
  for (const Tensor& y : outputs_) evidence.outputs.push_back(y.shape());
  evidence.numeric = [&](const Numbers& v) {
    Numbers g;
    for (size_t j = 0; j < x.size(); ++j) g.push_back(dot(v, columns[j]) / scale(x[j]));
    return g;
  };
  evidence.analytic = [&](const Numbers& v) { return analytic(v)[k].to_vector<double>(); };
  report_.cause = likely_cause(evidence);
  if (!report_.cause.empty()) report_.message += concat("; likely cause: ", report_.cause);
}

}  // namespace gradus::gradchecking
