#include <algorithm>
#include <cmath>
#include <iomanip>
#include <map>

#include "gradus/autograd/gradcheck/cause.hpp"
#include "gradus/autograd/gradcheck/differences.hpp"
#include "gradus/autograd/gradcheck/dot_product.hpp"
#include "gradus/autograd/gradcheck/findings.hpp"
#include "gradus/autograd/gradcheck/form.hpp"
#include "gradus/autograd/gradcheck/gradcheck.hpp"
#include "gradus/autograd/gradcheck/smallest.hpp"
#include "gradus/autograd/gradcheck/witness.hpp"
#include "gradus/autograd/gradcheck/wrong_op.hpp"
#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/ops/ops.hpp"

namespace gradus {
namespace {

using namespace gradchecking;

constexpr double kLargest = 1e9;                  // value whose rounding may hide a whole gradient
constexpr double kTiny = 1e-30;                   // results below it are too small for float32
constexpr int kDoublings = 12, kNoTerm = -10000;  // terms of like size differ by at most 2^12; none is 0
constexpr int64_t kMostExplained = 256;  // elements of an input whose right gradient is computed in full

// `value` at index j, 0 elsewhere.
Numbers unit(size_t size, size_t j, double value) {
  Numbers u(size, 0.0);
  u[j] = value;
  return u;
}

// The comparisons of one order: f at order 1, its gradient at order 2.
class Check {
 public:
  // `witness` is of f at order 1.
  Check(const Subject& subject, const Witness& witness, const GradcheckOptions& options, Generator& generator,
        Findings& findings)
      : subject_(subject),
        witness_(witness),
        options_(options),
        generator_(generator),
        findings_(findings),
        wrong_(subject.checked.size(), 1),
        largest_(subject.checked.size(), 0) {}

  // Returns false if two calls of the function give different values.
  bool run() {
    if (!check_form(subject_, options_, generator_, findings_)) return false;
    for (int n = 0; n < options_.directions; ++n) check_directions(n == 0 && subject_.order == 1);
    check_elements();
    if (subject_.order == 1) check_groups();
    check_layouts(subject_, options_, generator_, findings_,
                  [&](const Subject& there, size_t k, const std::string& layout, const Numbers& v,
                      const std::vector<Tensor>& g) {
                    std::vector<Numbers> us(g.size());
                    for (size_t j = k; j < (there.order == 1 ? k + 1 : g.size()); ++j)
                      us[j] = random_direction(there.inputs[there.checked[j]]);
                    if (witness_.gap().empty()) compare_forward(there, us, v, g, k, layout);
                  });
    if (subject_.order == 1 && !findings_.is_wrong()) check_upstream_sizes(subject_, generator_, findings_);
    // Differences name the place of an error better, so the dot-product test speaks where they found none.
    if (gap_ > kGap && !findings_.failed()) findings_.note(gap_ / kGap, gap_input_, gap_text_);
    if (findings_.failed()) explain();
    return true;
  }

 private:
  // The derivative of checked input k in a direction, for the gradient gx of the outputs' cotangent v. One
  // that differences cannot judge is noted as `unjudged`, if that is not `nothing`.
  Verdict::Kind compare(Direction& direction, const Numbers& v, const Numbers& gx, size_t k,
                        const std::string& where, Findings::Kind unjudged) {
    Verdict verdict = judge(direction, v, gx, options_, wrong_[k], largest_[k]);
    if ((verdict.kind == Verdict::wrong || verdict.kind == Verdict::not_smooth) &&
        verdict.ratio > wrong_[k]) {
      if (rounding_.empty()) rounding_ = subject_.rounding();
      verdict = judge(direction, v, gx, options_, wrong_[k], largest_[k], /*closely=*/false, rounding_);
      if (verdict.kind == Verdict::not_smooth &&
          hides(std::max(std::abs(verdict.analytic), std::abs(verdict.numeric)) * direction.unit, v)) {
        verdict.kind = Verdict::too_coarse;  // the kink is farther away than the steps that show the slope
        verdict.text = "differences are too coarse to judge";
      }
    }
    if (verdict.ratio > wrong_[k] && is_rounded(verdict, direction, v, gx, k))
      verdict = {Verdict::right, 0, verdict.analytic, verdict.analytic};
    if (verdict.kind == Verdict::wrong) wrong_[k] = std::max(wrong_[k], verdict.ratio);
    if (unjudged == Findings::Kind::nothing && !verdict.text.empty()) return verdict.kind;
    findings_.note(verdict, k, where, unjudged);
    return verdict.kind;
  }

  // Whether a gradient that differences do not confirm is right up to rounding: the error is as small as the
  // rounding of the gradient itself, or forward mode gives the same derivative.
  bool is_rounded(const Verdict& verdict, const Direction& direction, const Numbers& v, const Numbers& gx,
                  size_t k) const {
    if (verdict.kind != Verdict::wrong && verdict.kind != Verdict::too_coarse) return false;
    std::vector<Numbers> us(subject_.checked.size());
    us[k] = direction.u;
    const double error = std::abs(verdict.numeric - verdict.analytic);
    if (error * std::abs(direction.unit) <= lost(us, v)) return true;
    if (!witness_.gap().empty()) return false;
    std::vector<Tensor> g(us.size());
    g[k] = unflatten(gx, {subject_.wanted[k]})[0];
    const DotProducts sides = dot_products(witness_, subject_, us, v, g);
    return sides.gap() <= kGap || ((verdict.kind == Verdict::too_coarse || has_lost_digits(v)) &&
                                   is_rounding(sides, witness_, subject_, us, v));
  }

  // Returns the error that rounding may leave in the derivative along the directions `us`.
  double lost(const std::vector<Numbers>& us, const Numbers& v) const {
    const Numbers all = subject_.rounding(v);
    auto one = all.begin();
    double root = 0;
    for (size_t k = 0; k < us.size(); one += subject_.wanted[k++].numel())
      for (size_t j = 0; j < us[k].size(); ++j)
        root = std::hypot(root, one[static_cast<std::ptrdiff_t>(j)] * us[k][j]);
    return kLeft * root;
  }

  // Whether the rounding of the outputs is larger than a change of this slope over one step.
  bool hides(double slope, const Numbers& v) const {
    double root = 0;
    for (size_t j = 0; j < v.size() && j < rounding_.size(); ++j)
      root = std::hypot(root, rounding_[j] * v[j]);
    return kLeft * root > options_.eps * std::abs(slope);
  }

  // Whether an output whose weight in v is not 0 has no digits left in float32.
  bool has_lost_digits(const Numbers& v) const {
    const Numbers values = flatten(subject_.outputs);
    for (size_t j = 0; j < v.size() && j < rounding_.size(); ++j)
      if (v[j] != 0 && rounding_[j] * 0x1p29 > kRough * std::abs(values[j])) return true;
    return false;
  }

  Numbers random_direction(const Tensor& x) {
    Numbers u = flatten({x});
    for (double& e : u) e = generator_.normal() * scale(e);
    return u;
  }

  // The rate of a gradient that passed: where no witness can judge, an error below the tolerance shows there.
  void compare_rate(Direction& direction, const Numbers& v, const Numbers& gx, size_t k,
                    const std::string& where) {
    const double rate = falling_rate(direction, v, gx, options_.eps);
    if (rate == 0) return;
    const bool is_right = std::abs(rate - 4) <= kRateError;
    double& farthest = findings_.report().rate;
    if (witness_.gap().empty() || is_right) {
      if (farthest == 0 || std::abs(rate - 4) > std::abs(farthest - 4)) farthest = rate;
      return;
    }
    Verdict verdict = judge(direction, v, gx, options_, 1, largest_[k], /*closely=*/true);
    if (verdict.kind != Verdict::wrong || is_rounded(verdict, direction, v, gx, k)) return;
    farthest = rate;
    verdict.text = concat("the error of differences falls by ", rate,
                          " when the step halves, by 4 if the gradient is right; ");
    findings_.note(verdict, k, where, Findings::Kind::wrong);
  }

  void compare_forward(const Subject& subject, const std::vector<Numbers>& u, const Numbers& v,
                       const std::vector<Tensor>& g, size_t k, const std::string& where) {
    const DotProducts sides = dot_products(witness_, subject, u, v, g);
    const double gap = sides.gap();
    ++findings_.report().checks;
    const bool is_wrong = gap > kGap;
    if (is_wrong && (gap <= gap_ || is_rounding(sides, witness_, subject, u, v) ||
                     std::abs(sides.forward - sides.rules) <= lost(u, v)))
      return;
    double& largest = findings_.report().gaps[subject_.order - 1];
    largest = std::max(largest, gap);
    if (!is_wrong) return;
    gap_ = gap;
    gap_input_ = k;
    gap_text_ = concat(where, ": forward mode gives ", std::setprecision(17), sides.forward, ", the rules ",
                       sides.rules, ", relative gap ", std::setprecision(3), gap);
  }

  // The directions along each element of checked input k, moved by scale().
  std::vector<Direction> along_elements(size_t k) const {
    const size_t i = subject_.checked[k];
    const Numbers x = flatten({subject_.inputs[i]});
    std::vector<Direction> all;
    for (size_t j = 0; j < x.size(); ++j)
      all.emplace_back(subject_.f, subject_.inputs, i, unit(x.size(), j, scale(x[j])), scale(x[j]));
    return all;
  }

  void check_directions(bool is_first) {
    const Numbers v = subject_.random_cotangent(generator_);
    const std::vector<Tensor> g = subject_.analytic(v);
    const bool together = g.size() > kMostSingle;
    std::vector<Numbers> us(g.size());  // directions of the dot-product test
    for (size_t k = 0; k < g.size(); ++k) {
      const size_t i = subject_.checked[k];
      const Numbers u = random_direction(subject_.inputs[i]);
      Direction direction(subject_.f, subject_.inputs, i, u);
      const Numbers gx = flatten({g[k]});
      const std::string where = subject_.name(k) + " along a random direction";
      const Verdict::Kind kind = compare(direction, v, gx, k, where, Findings::Kind::unjudged_line);
      if (kind == Verdict::right && (is_first || !witness_.gap().empty()))
        compare_rate(direction, v, gx, k, where);
      if (witness_.gap().empty() && kind != Verdict::not_smooth && kind != Verdict::not_finite) {
        us[k] = u;
        if (!together) compare_forward(subject_, us, v, g, k, where);
        if (!together) us[k].clear();
      }
      const bool is_flat = std::all_of(gx.begin(), gx.end(), [](double e) { return e == 0; });
      if (is_flat && std::abs(dot(v, flatten(subject_.outputs))) > kLargest)
        findings_.note(
            2, k,
            subject_.name(k) + ": differences are too coarse to judge a gradient of 0 of such large values",
            Findings::Kind::unjudged_line);
    }
    if (together && witness_.gap().empty())
      compare_forward(subject_, us, v, g, kWhole, "all inputs along random directions");
  }

  // Of an input of many elements, the derivatives of those whose terms are of like size, which larger ones
  // hide in a sum over all.
  void check_groups() {
    const Numbers v = subject_.random_cotangent(generator_);
    const std::vector<Tensor> g = subject_.analytic(v);
    for (size_t k = 0; k < g.size() && g.size() <= kMostSingle; ++k) {
      const Tensor& x = subject_.inputs[subject_.checked[k]];
      if (x.numel() <= options_.elementwise) continue;
      const Numbers gx = flatten({g[k]}), u = random_direction(x);
      std::map<int, Numbers> groups;
      for (size_t j = 0; j < u.size(); ++j) {
        const double term = std::abs(gx[j] * u[j]);
        Numbers& group = groups[term > 0 && std::isfinite(term) ? std::ilogb(term) / kDoublings : kNoTerm];
        group.resize(u.size(), 0.0);
        group[j] = u[j];
      }
      if (groups.size() == 1) continue;
      for (auto& [size, group] : groups) {
        Direction direction(subject_.f, subject_.inputs, subject_.checked[k], group);
        const std::string where = subject_.name(k) + " along elements of like gradients";
        compare(direction, v, gx, k, where, Findings::Kind::nothing);
        std::vector<Numbers> us(g.size());
        us[k] = group;
        if (witness_.gap().empty()) compare_forward(subject_, us, v, g, k, where);
      }
    }
  }

  // Locates errors: one input element at a time, and one output element too if there are few.
  void check_elements() {
    const size_t output_count = flatten(subject_.outputs).size();
    const bool all_outputs = static_cast<int64_t>(output_count) <= options_.elementwise;
    std::vector<std::vector<Direction>> directions(subject_.checked.size());
    for (size_t k = 0; k < directions.size(); ++k)
      if (subject_.wanted[k].numel() <= options_.elementwise) directions[k] = along_elements(k);
    for (size_t row = 0; row < (all_outputs ? output_count : 1); ++row) {
      const Numbers v = all_outputs ? unit(output_count, row, 1) : subject_.random_cotangent(generator_);
      const std::vector<Tensor> g = subject_.analytic(v);
      for (size_t k = 0; k < g.size(); ++k) {
        const Numbers gx = flatten({g[k]});
        for (size_t j = 0; j < directions[k].size(); ++j)
          compare(directions[k][j], v, gx, k,
                  concat(subject_.name(k), " at ", g[k].shape().index_of(static_cast<int64_t>(j)),
                         all_outputs ? concat(", output element ", row) : ""),
                  Findings::Kind::unjudged_place);
      }
    }
  }

  // Adds the likely cause of a failure of this order: for its input, or the first that failed.
  void explain() {
    size_t k = findings_.blamed();
    for (size_t j = 0; k == kWhole && j < subject_.checked.size(); ++j)
      if (findings_.input(j).worst > 1) k = j;
    if (k == kWhole || subject_.wanted[k].numel() > kMostExplained) return;
    Evidence evidence;
    evidence.input = subject_.wanted[k].shape();
    evidence.cotangent = subject_.random_cotangent(generator_);
    for (const Tensor& y : subject_.outputs) evidence.outputs.push_back(y.shape());
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
    evidence.analytic = [&](const Numbers& v) { return flatten({subject_.analytic(v)[k]}); };
    std::string& cause = findings_.report().cause;
    cause = likely_cause(evidence);
    if (!cause.empty()) findings_.report().message += concat("; likely cause: ", cause);
  }

  const Subject& subject_;
  const Witness& witness_;
  const GradcheckOptions& options_;
  Generator& generator_;
  Findings& findings_;
  Numbers rounding_;                     // of the outputs, if it was asked for
  std::vector<double> wrong_, largest_;  // errors, at least 1, and terms of the checked inputs
  double gap_ = 0;                       // the largest one above kGap of the dot-product test,
  size_t gap_input_ = 0;                 // of which input,
  std::string gap_text_;                 // and what it says
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
    if (x[checked[0]].dtype() == DType::float32 && y.defined())
      y = y.to(DType::float32);  // for rounding()
    else if (!y.defined() || y.dtype() != DType::float64)
      fail("gradcheck", "needs a float64 result, got ", y.defined() ? name(y.dtype()) : "none", ".");
    return std::vector<Tensor>{std::move(y)};
  };

  std::vector<Tensor> arguments;
  for (const Tensor& x : inputs) arguments.push_back(x.detach());
  const Numbers values = flatten(first(arguments));  // errors of f itself are the caller's

  GradcheckReport report;
  const Witness witness(first, arguments);
  report.unwitnessed = witness.gap();
  Findings findings(options, report);
  Generator generator(options.seed);
  bool repeats = true;
  try {
    findings.start(1, checked);
    double most = 0;
    for (const double y : values) most = std::max(most, std::abs(y));
    const bool is_tiny = most > 0 && most < kTiny;
    const double scale = is_tiny ? most : witness.largest();
    const Subject subject(1, first, arguments, checked, scale);
    repeats = Check(subject, witness, options, generator, findings).run();
    if (repeats && options.order == 2) {
      std::vector<Tensor> all = arguments;
      std::vector<size_t> all_checked = checked;
      for (const Tensor& v : unflatten(subject.random_cotangent(generator), subject.outputs)) {
        all_checked.push_back(all.size());
        all.push_back(v);
      }
      findings.start(2, all_checked);
      const Subject second(2, gradient_of(first, inputs.size(), checked), all, all_checked, scale);
      Check(second, witness, options, generator, findings).run();
    }
  } catch (const Error& e) {
    findings.require(false, kWhole, e.what());
  }
  report.passed = report.checks > 0 && report.worst <= 1;
  report.is_wrong = findings.is_wrong();
  if (report.is_wrong && repeats) find_wrong_op(first, arguments, checked, options, report);
  if (report.is_wrong && repeats && options.shrinking > 0) find_smallest(f, inputs, options, report);
  if (options.inspect) inspect(first, arguments, checked, options, report);
  return report;
}

}  // namespace gradus
