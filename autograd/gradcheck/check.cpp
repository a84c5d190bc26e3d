#include "gradus/autograd/gradcheck/gradcheck.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iomanip>
#include <limits>

#include "gradus/autograd/gradcheck/cause.hpp"
#include "gradus/autograd/gradcheck/witness.hpp"
#include "gradus/autograd/gradcheck/wrong_op.hpp"
#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/ops/ops.hpp"

namespace gradus {
namespace {

using namespace gradchecking;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLargest = 1e9;         // value whose rounding may hide a whole gradient
constexpr double kGap = 1e-12;           // relative, between forward mode and the rules
constexpr double kSmallSlope = 0.01;     // derivatives below it may be sums of larger ones
constexpr size_t kMostAlone = 8;         // more inputs share a replay of the function
constexpr int64_t kMostExplained = 256;  // elements of an input whose right gradient is computed in full

// `value` at index j, 0 elsewhere.
Numbers unit(size_t size, size_t j, double value) {
  Numbers u(size, 0.0);
  u[j] = value;
  return u;
}

bool same_bits(const Numbers& a, const Numbers& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

bool shares_storage(const Tensor& t, const std::vector<Tensor>& others) {
  return std::any_of(others.begin(), others.end(),
                     [&](const Tensor& other) { return other.impl()->storage == t.impl()->storage; });
}

// One call of gradcheck(), which records its comparisons in a report.
class Check {
 public:
  /// `witness` is of f at order 1.
  Check(const GradcheckOptions& options, GradcheckReport& report, const Witness& witness)
      : options_(options), report_(report), witness_(witness), generator_(options.seed) {}

  // `f` at order 1; its gradient at order 2. `checked`: which inputs.
  void run(int order, const Function& f, const std::vector<Tensor>& inputs,
           const std::vector<size_t>& checked) {
    order_ = order;
    f_ = f;
    checked_ = checked;
    blamed_ = kWhole;
    failed_ = false;
    gap_ = 0;
    wrong_.assign(checked.size(), 1);
    largest_.assign(checked.size(), 0);
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
    require(std::any_of(outputs_.begin(), outputs_.end(), [](const Tensor& y) { return y.requires_grad(); }),
            kWhole, "the result requires no gradient");
    const bool repeats = same_bits(flatten(f_(leaves)), flatten(outputs_));
    require(repeats, kWhole,
            "two calls gave different values: draw random numbers from a generator made inside the function");
    check_form();
    for (int k = 0; k < options_.directions; ++k) check_directions();
    check_elements();
    if (order == 1) {
      check_input_layouts();
      check_upstream_layouts();
      if (!is_wrong()) check_upstream_sizes();
    }
    note_gap();
    if (repeats) explain();
  }

  // Random cotangents of the outputs that run() computed, at which order 2 differentiates.
  std::vector<Tensor> cotangents() { return unflatten(random_cotangent(), outputs_); }

  // Whether a failure was found that differences can judge.
  bool is_wrong() const { return found_ == Found::wrong; }

  static constexpr size_t kWhole = static_cast<size_t>(-1);  // not about one input

  // Records a condition on checked input k that is not a number.
  void require(bool holds, size_t k, const std::string& text) { note(holds ? 0 : kInfinity, k, text); }

 private:
  // The message is of the worst wrong gradient of the first order that has one; without one, of the first
  // place that differences cannot judge.
  enum class Found { nothing, unjudged_line, unjudged_place, wrong };

  void note(double ratio, size_t k, const std::string& text, Found found = Found::wrong) {
    ++report_.checks;
    if (!std::isfinite(ratio)) ratio = kInfinity;
    if (k != kWhole) report_.inputs[first_ + k].worst = std::max(report_.inputs[first_ + k].worst, ratio);
    report_.worst = std::max(report_.worst, ratio);
    if (ratio <= 1 || found < found_ || (found == found_ && ratio <= worst_)) return;
    if (found_ == Found::wrong && found_order_ < order_) return;
    found_ = found;
    found_order_ = order_;
    worst_ = found == Found::wrong ? ratio : kInfinity;
    failed_ = found == Found::wrong;
    blamed_ = k;
    report_.message = concat("order ", order_, ": ", text, "; seed ", options_.seed);
  }

  void note(const Verdict& verdict, size_t k, const std::string& where, Found unjudged) {
    GradcheckInput& input = report_.inputs[first_ + k];
    if (!(verdict.ratio <= input.worst)) {
      input.where = where;
      input.numeric = verdict.numeric;
      input.analytic = verdict.analytic;
    }
    if (verdict.kind == Verdict::wrong) wrong_[k] = std::max(wrong_[k], verdict.ratio);
    if (verdict.ratio <= 1) return note(verdict.ratio, k, "");
    if (verdict.text.empty())
      return note(verdict.ratio, k,
                  concat(where, ": numeric ", verdict.numeric, ", analytic ", verdict.analytic, ", error ",
                         std::abs(verdict.numeric - verdict.analytic)));
    note(verdict.ratio, k,
         concat(where, ": ", verdict.text, "; analytic ", verdict.analytic,
                ". Hint: differences cannot check a rule there; choose other inputs"),
         unjudged);
  }

  // The derivative of checked input k in a direction, for the gradient gx of the outputs' cotangent v.
  Verdict::Kind compare(Direction& direction, const Numbers& v, const Numbers& gx, size_t k,
                        const std::string& where, Found unjudged) {
    const Verdict verdict = judge(direction, v, gx, options_, wrong_[k], largest_[k]);
    note(verdict, k, where, unjudged);
    return verdict.kind;
  }

  // The derivative along u, one for each checked input or empty for 0, for the outputs' cotangent v, in
  // forward mode: terms of a sum. At order 2 the function is (x, c) -> J(x)^T c, so they are those of c D^2
  // f(x)[u, v] for the u of x, and of u J(x) v for that of c.
  Numbers forward(const std::vector<Numbers>& u, const Numbers& v) const {
    const size_t cotangents = order_ == 1 ? 0 : 1, inputs = inputs_.size() - cotangents;
    std::vector<Numbers> at_u, at_v;
    for (size_t i = 0; i < inputs; ++i) at_u.emplace_back(static_cast<size_t>(inputs_[i].numel()), 0.0);
    at_v = at_u;
    bool along_inputs = false;
    auto next = v.begin();
    for (size_t k = 0; k + cotangents < checked_.size(); ++k) {
      if (!u[k].empty()) at_u[checked_[k]] = u[k], along_inputs = true;
      if (order_ == 2)
        for (double& e : at_v[checked_[k]]) e = *next++;
    }
    Numbers all;
    const auto append = [&](const Numbers& a, const Numbers& b) {
      for (size_t j = 0; j < a.size(); ++j) all.push_back(a[j] * b[j]);
    };
    if (order_ == 1) append(v, witness_.along(at_u));
    if (order_ == 2 && along_inputs) append(flatten({inputs_[inputs]}), witness_.along(at_u, at_v));
    if (order_ == 2 && !u.back().empty()) append(u.back(), witness_.along(at_v));
    return all;
  }

  // The dot-product test: <v, J u> in forward mode and <J^T v, u> by the rules, without a difference.
  void compare_forward(const std::vector<Numbers>& u, const Numbers& v, const std::vector<Tensor>& g,
                       size_t k, const std::string& where) {
    double right = 0, got = 0, squares = 0, size = 0, value = 0;
    for (const double t : forward(u, v)) right += t, size += std::abs(t);
    for (size_t i = 0; i < u.size(); ++i) {
      if (u[i].empty()) continue;
      const Numbers gx = flatten({g[i]});
      squares += dot(u[i], u[i]);
      for (size_t j = 0; j < gx.size(); ++j) got += gx[j] * u[i][j], size += std::abs(gx[j] * u[i][j]);
    }
    // A slope like s * (1 - s) has the rounding of the value s.
    const Numbers values = flatten(outputs_);
    for (size_t j = 0; j < v.size(); ++j) value += std::abs(v[j] * values[j]);
    size += kSmallSlope * std::sqrt(squares * dot(v, v)) + std::min(1.0, value);
    const double gap = right == got ? 0 : std::abs(right - got) / size;
    report_.gaps[order_ - 1] = std::max(report_.gaps[order_ - 1], gap);
    ++report_.checks;
    if (gap <= kGap || gap <= gap_) return;
    gap_ = gap;
    gap_input_ = k;
    gap_text_ = concat(where, ": forward mode gives ", std::setprecision(17), right, ", the rules ", got,
                       ", relative gap ", std::setprecision(3), gap);
  }

  // Differences name the place of an error better, so the dot-product test speaks where they found none.
  void note_gap() {
    if (gap_ > kGap && !failed_) note(gap_ / kGap, gap_input_, gap_text_);
  }

  Numbers random_cotangent() {
    Numbers v(flatten(outputs_).size());
    for (double& e : v) e = generator_.normal();
    return v;
  }

  std::vector<Tensor> analytic(const Numbers& cotangent) const {
    return gradients(outputs_, wanted_, unflatten(cotangent, outputs_), /*create_graph=*/false);
  }

  std::string input(size_t k) const { return concat("input ", checked_[k]); }

  // Shapes, storage, repetition, a zero cotangent.
  void check_form() {
    const Numbers v = random_cotangent();
    const std::vector<Tensor> cotangents = unflatten(v, outputs_);
    const std::vector<Tensor> g = gradients(outputs_, wanted_, cotangents, false);
    for (size_t k = 0; k < g.size(); ++k) {
      const Tensor& x = wanted_[k];
      require(g[k].shape() == x.shape() && g[k].dtype() == x.dtype(), k,
              concat(input(k), ": the gradient is ", name(g[k].dtype()), " ", g[k].shape(), ", the input ",
                     name(x.dtype()), " ", x.shape()));
      require(!shares_storage(g[k], cotangents) && !shares_storage(g[k], wanted_) &&
                  !shares_storage(g[k], outputs_) &&
                  !shares_storage(g[k], {g.begin(), g.begin() + static_cast<std::ptrdiff_t>(k)}),
              k, concat(input(k), ": the gradient shares storage with another tensor"));
    }
    require(same_bits(flatten(g), flatten(analytic(v))), kWhole,
            "two backward passes gave different gradients");
    const Numbers zero = flatten(analytic(Numbers(v.size(), 0.0))), all = flatten(g);
    bool is_zero = true;  // but for 0 * inf
    for (size_t j = 0; j < zero.size(); ++j) is_zero = is_zero && (zero[j] == 0 || !std::isfinite(all[j]));
    require(is_zero, kWhole, "a zero cotangent gave a gradient that is not zero");
    if (options_.order >= 2) check_paths(cotangents, g);
  }

  // A rule may hold a fast kernel and a recorded formula: they must be the same function.
  void check_paths(const std::vector<Tensor>& cotangents, const std::vector<Tensor>& plain) {
    const std::vector<Tensor> recorded = gradients(outputs_, wanted_, cotangents, /*create_graph=*/true);
    for (size_t k = 0; k < plain.size(); ++k) {
      const Numbers a = flatten({plain[k]}), b = flatten({recorded[k]});
      for (size_t j = 0; j < a.size(); ++j) {
        const bool same = a[j] == b[j] || (std::isnan(a[j]) && std::isnan(b[j]));
        const double ratio = same ? 0 : std::abs(b[j] - a[j]) / (options_.tolerance * (1 + std::abs(a[j])));
        note({ratio <= 1 ? Verdict::right : Verdict::wrong, ratio, b[j], a[j]}, k,
             concat(input(k), " at ", wanted_[k].shape().index_of(static_cast<int64_t>(j)),
                    ", with create_graph (first number) and without (second)"),
             Found::wrong);
      }
    }
  }

  // The same numbers in another layout must give the same.
  void check_input_layouts() {
    for (size_t k = 0; k < checked_.size(); ++k)
      for (const Layout& layout : layouts(inputs_[checked_[k]]))
        check_layout(k, layout.name, layout.packed, layout.view);
  }

  void check_upstream_layouts() {
    for (const Layout& layout : layouts(cotangents()[0]))
      for (const bool create_graph : {false, true}) {
        if (create_graph && options_.order < 2) continue;
        const auto expected = gradients(outputs_, wanted_, {layout.packed}, create_graph),
                   got = gradients(outputs_, wanted_, {layout.view}, create_graph);
        for (size_t k = 0; k < got.size(); ++k)
          require(agree(flatten({expected[k]}), flatten({got[k]})), k,
                  concat(input(k), " gets another gradient if the upstream gradient is ", layout.name,
                         ": its strides are ignored"));
      }
  }

  // A gradient is linear in the upstream one, however large or small that is.
  void check_upstream_sizes() {
    const Numbers v = random_cotangent(), g = flatten(analytic(v));
    for (const double size : {0x1p40, 0x1p-40}) {
      Numbers other = v;
      for (double& e : other) e *= size;
      other = flatten(analytic(other));
      for (double& e : other) e /= size;
      require(!std::isfinite(dot(other, other)) || agree(g, other), kWhole,
              concat("an upstream gradient ", size, " times as large gives another gradient than ", size,
                     " times this one: the rule is not linear"));
    }
  }

  void check_layout(size_t k, const std::string& layout, const Tensor& packed, const Tensor& view) {
    const auto run = [&](const Tensor& x) {  // the values and the gradient
      std::vector<Tensor> inputs = inputs_, v;
      inputs[checked_[k]] = x.detach().requires_grad_();
      const std::vector<Tensor> y = f_(inputs);
      Generator generator(options_.seed);
      for (const Tensor& t : y) v.push_back(randn(t.shape(), generator, DType::float64));
      return std::pair(flatten(y), flatten(gradients(y, {inputs[checked_[k]]}, v, /*create_graph=*/false)));
    };
    std::pair<Numbers, Numbers> expected;
    try {
      expected = run(packed);
    } catch (const Error&) {
      return;  // an expanded input may be one that f refuses
    }
    const auto [value, gradient] = run(view);
    require(agree(expected.first, value), k,
            concat(input(k), " ", layout, " gives another value: strides are ignored"));
    require(agree(expected.second, gradient), k,
            concat(input(k), " ", layout, " gives another gradient: strides are ignored"));
  }

  // The directions along each element of checked input k, moved by scale().
  std::vector<Direction> along_elements(size_t k) const {
    const Numbers x = flatten({inputs_[checked_[k]]});
    std::vector<Direction> all;
    for (size_t j = 0; j < x.size(); ++j)
      all.emplace_back(f_, inputs_, checked_[k], unit(x.size(), j, scale(x[j])), scale(x[j]));
    return all;
  }

  void check_directions() {
    const Numbers v = random_cotangent();
    const std::vector<Tensor> g = analytic(v);
    const bool together = checked_.size() > kMostAlone;
    std::vector<Numbers> us(checked_.size());  // directions of the dot-product test
    for (size_t k = 0; k < checked_.size(); ++k) {
      Numbers u = flatten({inputs_[checked_[k]]});
      for (double& e : u) e = generator_.normal() * scale(e);
      Direction direction(f_, inputs_, checked_[k], u);
      const Numbers gx = flatten({g[k]});
      const Verdict::Kind kind =
          compare(direction, v, gx, k, input(k) + " along a random direction", Found::unjudged_line);
      if (witness_.gap().empty() && kind != Verdict::not_smooth && kind != Verdict::not_finite) {
        us[k] = u;
        if (!together) compare_forward(us, v, g, k, input(k) + " along a random direction");
        if (!together) us[k].clear();
      }
      const bool is_flat = std::all_of(gx.begin(), gx.end(), [](double e) { return e == 0; });
      if (is_flat && std::abs(dot(v, flatten(outputs_))) > kLargest)
        note(2, k, input(k) + ": differences are too coarse to judge a gradient of 0 of such large values",
             Found::unjudged_line);
    }
    if (together && witness_.gap().empty())
      compare_forward(us, v, g, kWhole, "all inputs along random directions");
  }

  // Locates errors: one input element at a time, and one output element too if there are few.
  void check_elements() {
    const size_t output_count = flatten(outputs_).size();
    const bool all_outputs = static_cast<int64_t>(output_count) <= options_.elementwise;
    std::vector<std::vector<Direction>> directions(checked_.size());
    for (size_t k = 0; k < checked_.size(); ++k)
      if (wanted_[k].numel() <= options_.elementwise) directions[k] = along_elements(k);
    for (size_t row = 0; row < (all_outputs ? output_count : 1); ++row) {
      const Numbers v = all_outputs ? unit(output_count, row, 1) : random_cotangent();
      const std::vector<Tensor> g = analytic(v);
      for (size_t k = 0; k < checked_.size(); ++k) {
        const Numbers gx = flatten({g[k]});
        for (size_t j = 0; j < directions[k].size(); ++j)
          compare(directions[k][j], v, gx, k,
                  concat(input(k), " at ", g[k].shape().index_of(static_cast<int64_t>(j)),
                         all_outputs ? concat(", output element ", row) : ""),
                  Found::unjudged_place);
      }
    }
  }

  // Adds the likely cause if the worst failure is of this run: for its input, or the first that failed.
  void explain() {
    if (!failed_) return;
    size_t k = blamed_;
    for (size_t j = 0; k == kWhole && j < checked_.size(); ++j)
      if (report_.inputs[first_ + j].worst > 1) k = j;
    if (k == kWhole || wanted_[k].numel() > kMostExplained) return;
    Evidence evidence;
    evidence.input = wanted_[k].shape();
    evidence.cotangent = random_cotangent();
    for (const Tensor& y : outputs_) evidence.outputs.push_back(y.shape());
    std::vector<Direction> directions = along_elements(k);
    evidence.numeric = [&](const Numbers& v) {
      Numbers g;
      for (size_t j = 0; j < directions.size(); ++j) {
        // Shorter where the function ends nearby.
        const auto slope = [&](double h) {
          return directions[j].line.change(v, -h, h) / (2 * h * directions[j].u[j]);
        };
        const double d = slope(options_.eps);
        g.push_back(std::isfinite(d) ? d : slope(0x1p-18 * options_.eps));
      }
      return g;
    };
    evidence.analytic = [&](const Numbers& v) { return flatten({analytic(v)[k]}); };
    report_.cause = likely_cause(evidence);
    if (!report_.cause.empty()) report_.message += concat("; likely cause: ", report_.cause);
  }

  const GradcheckOptions& options_;
  GradcheckReport& report_;
  const Witness& witness_;
  Generator generator_;
  int order_ = 1;
  Function f_;
  size_t first_ = 0;                     // of this run's entries in report_.inputs
  Found found_ = Found::nothing;         // what the message is about,
  int found_order_ = 1;                  // at which order,
  double worst_ = 0;                     // and how large that error is
  std::vector<double> wrong_, largest_;  // errors, at least 1, and terms of the checked inputs in this run
  bool failed_ = false;                  // the worst failure so far is of this run,
  size_t blamed_ = kWhole;               // and about this one of checked_
  double gap_ = 0;                       // the largest one above kGap of the dot-product test in this run,
  size_t gap_input_ = 0;                 // of which input,
  std::string gap_text_;                 // and what it says
  std::vector<size_t> checked_;          // which inputs
  std::vector<Tensor> inputs_;           // plain
  std::vector<Tensor> wanted_;           // the checked ones, as leaves
  std::vector<Tensor> outputs_;          // of f_ at the leaves
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
  const Witness witness(first, arguments);
  report.unwitnessed = witness.gap();
  Check check(options, report, witness);
  try {
    check.run(1, first, arguments, checked);
    if (options.order == 2) {
      std::vector<Tensor> all = arguments;
      std::vector<size_t> all_checked = checked;
      for (const Tensor& v : check.cotangents()) {
        all_checked.push_back(all.size());
        all.push_back(v);
      }
      check.run(2, gradient_of(first, inputs.size(), checked), all, all_checked);
    }
  } catch (const Error& e) {
    check.require(false, Check::kWhole, e.what());
  }
  report.passed = report.checks > 0 && report.worst <= 1;
  if (check.is_wrong()) find_wrong_op(first, arguments, checked, options, report);
  if (options.inspect) inspect(first, arguments, checked, options, report);
  return report;
}

}  // namespace gradus
