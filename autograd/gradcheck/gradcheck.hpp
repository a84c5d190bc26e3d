// gradcheck: compares the gradients of a function with differences of its values, in float64.
//
// Central differences along random directions, scaled to each element's magnitude, are compared with the
// gradient for random cotangents (cotangents of ones would hide a rule that ignores its upstream gradient).
// Inputs of few elements are also checked one element at a time. Where these differences disagree, the
// derivative is extrapolated from differences of many lengths, with a bound of its error that follows the
// rounding of f. Order 2 checks the gradient function in the same way, and its derivative with respect to the
// cotangent. gradcheck also requires that two calls of the function and of its gradient give the same bits. A
// zero cotangent must give zeros, and large, small and negative cotangents must give gradients in proportion.
// Gradients must have their input's shape and dtype and share no storage, and be the same where an input
// alone requires one. Rules must not change the upstream gradient. The formula recorded under create_graph
// must agree with the one used without it. Inputs and cotangents with gaps, at an offset, expanded or
// transposed in memory must give the same gradients as packed ones.
//
// At a kink (relu at 0, ties of a maximum) and where values are rounded too coarsely, no difference can check
// a rule: the check fails, and its message gives this cause instead of a wrong rule. Thread-safe: no state;
// `f` runs on the calling thread.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gradus/autograd/graph/node.hpp"
#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus {

struct CheckedGraph;

/// Options of gradcheck().
struct GradcheckOptions {
  int order = 1;      ///< 1: gradients; 2: also the gradients of gradients
  double eps = 1e-5;  ///< length of a difference along a direction, relative to max(|x|, 0.01)
  /// passes if |numeric - analytic| <= tolerance * (sum |gradient * direction| + min(1, |cotangent * f|) /
  /// 10000) + the bound of an extrapolated derivative's error
  double tolerance = 1e-7;
  int directions = 4;        ///< random directions for each input
  int64_t elementwise = 32;  ///< inputs of at most this size are also checked one element at a time
  int shrinking = 200;       ///< how many simpler inputs are tried after a failure, for at most two seconds
  bool any_shape = false;    ///< f takes inputs of any shape, or throws Error: smaller ones are tried too
  uint64_t seed = 0;         ///< seed of all random numbers; the same seed repeats the same check
  /// Called at the end, if there is one, with the function's graph.
  std::function<void(const CheckedGraph&)> inspect{};
  std::vector<std::string> names{};  ///< of the inputs in that graph; others are input 0, input 1, ...
};

/// The result for one input at one order.
struct GradcheckInput {
  size_t input = 0;     ///< its index among the inputs; at order 2 the cotangents come after them
  int order = 1;        ///< 1, or 2
  double worst = 0;     ///< largest error as a multiple of the allowed error
  std::string where{};  ///< its place: direction, or position in the input and the output
  double numeric = 0;   ///< derivative there, by differences
  double analytic = 0;  ///< derivative there, by the gradient rules
};

/// An op with a wrong gradient rule.
struct GradcheckOp {
  size_t number = 0;    ///< in graph_text(), from 1; 0 if none was found
  std::string op{};     ///< "mul float64 (2, 3)"
  int order = 1;        ///< of the gradient that is wrong
  double numeric = 0;   ///< by differences: the derivative of a random combination of the op's results (order
                        ///< 2: of their gradients) along a random direction
  double analytic = 0;  ///< the same by the gradient rules
  std::string error{};  ///< the error of the rule, or the layout on which its gradient depends
};

/// The result of gradcheck().
struct GradcheckReport {
  bool passed = false;    ///< whether all comparisons passed
  bool is_wrong = false;  ///< whether a rule is; false if the check failed because differences cannot judge
  int64_t checks = 0;     ///< comparisons made; a check without any does not pass
  double worst = 0;  ///< largest error as a multiple of the allowed error; infinite for NaN and infinities
  /// The worst failure: order, input, position, both numbers, seed, likely cause; empty if passed. If no
  /// failure is due to a rule, it says why differences cannot check the rules: "not smooth", "not finite" or
  /// "too coarse".
  std::string message;
  /// The likely error in the gradient of the worst input: a factor, a sign, a transpose, a missing sum, an
  /// ignored upstream gradient... Empty if passed, or if there is no likely one.
  std::string cause;
  /// The oldest op of the function whose rule is wrong, while those of its inputs are right.
  GradcheckOp wrong_op{};
  /// Simpler inputs that fail too, if any: elements set to 0 or 1, with any_shape also cut along dims.
  std::vector<Tensor> smallest;
  std::string smallest_message;        ///< those inputs, and the message of their check
  std::vector<GradcheckInput> inputs;  ///< each checked input, at each order
  /// The largest relative gap |<v, J u> - <J^T v, u>| of the dot-product test at orders 1 and 2.
  double gaps[2] = {0, 0};
  /// How Taylor remainders fall when the step halves, at order 1: by 4 if the gradient is right. The rate
  /// that is farthest from 4; 0 if rounding hid all of them, as for linear functions.
  double rate = 0;
  std::string unwitnessed{};  ///< why only differences were compared; empty if the dot-product test was made
  explicit operator bool() const { return passed; }  ///< passed
};

/// A function's graph at the checked inputs, whose ops kept their values (see KeepValues).
struct CheckedGraph {
  const GradcheckReport& report;  ///< what gradcheck() returns
  Tensor result;                  ///< of the function
  Tensor cotangent;               ///< random, of the result's shape
  LeafNames names;                ///< of the inputs
};

/// The recorded graph with the values that were kept (see KeepValues) and with the gradient of y, a scalar,
/// at each vertex, as JSON; docs/operations-and-gradient-checks.md describes it. Runs a backward pass, with
/// its hooks, that leaves the graph and every `.grad()` as they are. Throws Error as grad() does.
std::string graph_json(const Tensor& y, const LeafNames& names = {});

/// The same for a check, with the gradients for its cotangent and with the report. If a rule throws, or
/// nothing was recorded, there are no gradients.
std::string graph_json(const CheckedGraph& graph);

/// A function of float64 tensors. It must not depend on anything that changes between calls.
using GradcheckFunction = std::function<Tensor(const std::vector<Tensor>&)>;

/// Checks d f / d input for the inputs that require gradients, or for all floating ones if none does.
/// `inputs` are copied. Errors from gradient rules fail the check; errors from `f` itself pass through.
/// Throws Error for float32 inputs or results, if no input is floating, and for options out of range.
GradcheckReport gradcheck(const GradcheckFunction& f, const std::vector<Tensor>& inputs,
                          const GradcheckOptions& options = {});

/// gradcheck as a matcher for Catch2 2 and 3. A failed check prints the report's message.
///
///     CHECK_THAT(my_op, PassesGradcheck({x, w}));             // my_op(x, w), orders 1 and 2
///     CHECK_THAT(my_op, PassesGradcheck({x}, {.order = 1}));
class PassesGradcheck {
 public:
  /// The inputs at which the function is checked.
  explicit PassesGradcheck(std::vector<Tensor> inputs, const GradcheckOptions& options = {.order = 2})
      : inputs_(std::move(inputs)), options_(options) {}

  /// f is called with the inputs one by one, up to four of them, or with all in a vector.
  template <class F>
  bool match(const F& f) const {
    using T = const Tensor&;
    if constexpr (std::invocable<const F&, const std::vector<Tensor>&>) {
      report_ = gradcheck(std::cref(f), inputs_, options_);
    } else {
      static_assert(std::invocable<const F&, T> || std::invocable<const F&, T, T> ||
                        std::invocable<const F&, T, T, T> || std::invocable<const F&, T, T, T, T>,
                    "f must take the inputs one by one or as a vector");
      report_ = gradcheck([&f](const std::vector<Tensor>& x) { return call(f, x); }, inputs_, options_);
    }
    return report_.passed;
  }

  /// Catch2 calls it after match().
  std::string toString() const {
    return report_.passed ? "passes gradcheck" : "must pass gradcheck, but: " + report_.message;
  }

 private:
  template <class F, class... Given>
  static Tensor call(const F& f, const std::vector<Tensor>& x, const Given&... given) {
    constexpr size_t kGiven = sizeof...(given);
    if constexpr (std::invocable<const F&, const Given&...>)
      if (kGiven == x.size()) return f(given...);
    if constexpr (kGiven < 4)
      if (kGiven < x.size()) return call(f, x, given..., x[kGiven]);
    fail("gradcheck", "f must take as many tensors as there are inputs, got ", x.size(), " inputs.");
  }

  std::vector<Tensor> inputs_;
  GradcheckOptions options_;
  mutable GradcheckReport report_;
};

}  // namespace gradus
