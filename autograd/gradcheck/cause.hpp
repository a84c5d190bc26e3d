// The parts of gradcheck(): functions of several results, their elements in one row, what differences along a
// line say, layouts of tensors, and the likely cause of a wrong gradient. Internal.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gradus/autograd/gradcheck/gradcheck.hpp"
#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus::gradchecking {

/// Several results, because the gradient of a function of several inputs has several.
using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
using Numbers = std::vector<double>;

double dot(const Numbers& a, const Numbers& b);

/// All elements of float64 tensors, one tensor after the other.
Numbers flatten(const std::vector<Tensor>& tensors);
/// The inverse, given tensors of the wanted shapes.
std::vector<Tensor> unflatten(const Numbers& all, const std::vector<Tensor>& like);

/// grad(), with zeros for an input that no output depends on.
std::vector<Tensor> gradients(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                              const std::vector<Tensor>& cotangents, bool create_graph);

/// (inputs..., cotangents...) -> gradients of f. Recorded if an argument requires a gradient; plain numbers
/// come from the fast path without create_graph, so that each path is compared with the other.
Function gradient_of(const Function& f, size_t input_count, const std::vector<size_t>& checked);

/// A tensor in another layout, and a packed one of the same values.
struct Layout {
  std::string name;
  Tensor view, packed;
};

/// x with gaps between its elements along each dim, with dims exchanged in memory, at an offset; and its
/// first slices expanded along each dim, and along all.
std::vector<Layout> layouts(const Tensor& x);

/// Equal up to rounding, and NaN or infinite in the same places.
bool agree(const Numbers& a, const Numbers& b);

/// The results of a function along a line, at x + t u. Each is computed once.
class Line {
 public:
  explicit Line(std::function<Numbers(double t)> values) : values_(std::move(values)) {}
  const Numbers& at(double t);
  /// The sum of weights * (at(to) - at(from)); results of weight 0 do not count.
  double change(const Numbers& weights, double from, double to);

 private:
  std::function<Numbers(double t)> values_;
  std::map<double, Numbers> known_;
};

/// The result of comparing an analytic derivative with finite differences along one direction.
struct Verdict {
  enum Kind { right, wrong, not_smooth, not_finite, too_coarse };
  Kind kind = right;
  double ratio = 0;    ///< the error as a multiple of the allowed error
  double numeric = 0;  ///< derivative by differences
  double analytic = 0;
  std::string text{};  ///< what keeps differences from judging
};

struct Judging {
  double unit = 1;          ///< length of the direction, to which the derivatives of the verdict refer
  double largest_term = 0;  ///< of other derivatives: much less may be rounding
  double worst = 1;         ///< an error known already: smaller ones need not be exact
};

/// Compares the derivative of sum(weights * results) at t = 0 with the sum of `terms`. Differences of length
/// eps suffice if they agree. Else the derivative is extrapolated from differences of many lengths (Ridders,
/// 1982), with a bound of its error from the rounding of the results and from how well the differences agree;
/// and the slopes on both sides are compared.
Verdict judge(Line& line, const Numbers& weights, const Numbers& terms, const GradcheckOptions& options,
              const Judging& how = {});

/// The length of a difference of an element, in units of eps.
inline double scale(double x) { return std::max(std::abs(x), 0.01); }

/// A direction u from input i of a function, which must outlive it, as the inputs must.
struct Direction {
  Direction(const Function& f_, const std::vector<Tensor>& inputs_, size_t i_, Numbers u_, double unit_ = 1);

  const Function& f;
  const std::vector<Tensor>& inputs;
  size_t i;
  Numbers u;
  double unit;  ///< of the verdict's numbers
  Line line;
  std::unique_ptr<Direction>
      shorter{};  ///< relative to the elements, however small; those that are 0 as before
};

/// Compares the derivative in a direction with the input's gradient; where differences cannot judge, also in
/// the shorter direction. largest_term: of all calls.
Verdict judge(Direction& direction, const Numbers& weights, const Numbers& gradient,
              const GradcheckOptions& options, double worst, double& largest_term);

/// The facts about one input whose gradient is wrong.
struct Evidence {
  Shape input;                               ///< its shape
  std::vector<Shape> outputs;                ///< of the results
  Numbers cotangent;                         ///< of all results
  std::function<Numbers(Numbers)> numeric;   ///< the right gradient for a cotangent, by differences
  std::function<Numbers(Numbers)> analytic;  ///< the gradient that the rule gives for it
};

/// A short text without a full stop: "the gradient is -1 times the right one: a wrong sign".
std::string likely_cause(const Evidence& evidence);

}  // namespace gradus::gradchecking
