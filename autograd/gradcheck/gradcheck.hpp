// gradcheck: are the gradients of a function right? Compares them with what the function's values do.
//
// The method: float64 only; central differences along random directions that are scaled to each element's
// magnitude, against random cotangents (never ones: those hide a rule that ignores its upstream gradient),
// and every element on its own where there are few. Order 2 puts the gradient function itself to the same
// test, its derivative with respect to the cotangent included. Beside the numbers it asks that the function
// and its gradient give the same bits twice, that a zero cotangent gives zeros, that gradients have their
// input's shape and dtype and share storage with nothing, and that the formula recorded under create_graph
// agrees with the one used without; and that an input with gaps between its elements, or expanded, means the
// same as a packed one.
//
// Keep inputs 100 steps away from kinks (relu at 0, ties of a maximum): differences mean nothing there.
// Thread-safe: no state; `f` runs on the calling thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gradus/autograd/values/tensor.hpp"

namespace gradus {

struct GradcheckOptions {
  int order = 1;      ///< 1: gradients; 2: also the gradients of gradients
  double eps = 1e-5;  ///< step along a direction, relative to max(|x|, 0.01)
  double tolerance =
      1e-7;            ///< passes if |numeric - analytic| <= tolerance * (1 + sum |gradient * direction|)
  int directions = 4;  ///< random directions an input
  int64_t elementwise = 32;  ///< inputs of at most so many elements are also checked one element at a time
  uint64_t seed = 0;         ///< of all that is drawn; the same seed replays the same check
};

/// How one input fared at one order.
struct GradcheckInput {
  size_t input = 0;     ///< its place among the inputs; beyond them, at order 2, the cotangents
  int order = 1;        ///< 1, or 2
  double worst = 0;     ///< largest error as a multiple of what is allowed
  std::string where{};  ///< of the largest difference: direction, or position in the input and the output
  double numeric = 0;   ///< derivative there, by differences
  double analytic = 0;  ///< and by the gradient rules
};

struct GradcheckReport {
  bool passed = false;
  int64_t checks = 0;  ///< comparisons made; none made is not a pass
  double worst =
      0;  ///< largest error as a multiple of what is allowed; infinite where a number was not finite
  /// The worst failure: order, input, position, both numbers, seed, likely cause; empty if passed.
  std::string message;
  /// What is likely wrong with the gradient of the worst input: a factor, a sign, a transpose, a missing sum,
  /// an ignored upstream gradient... Empty if passed, or if it cannot be told.
  std::string cause;
  std::vector<GradcheckInput> inputs;  ///< each checked input, at each order
  explicit operator bool() const { return passed; }
};

using GradcheckFunction = std::function<Tensor(const std::vector<Tensor>&)>;

/// Checks d f / d input for the inputs that require gradients, or for all floating ones if none does.
/// `inputs` are copied and left alone. Errors from gradient rules fail the check; those of `f` itself pass
/// through. Throws Error for float32 inputs or results, for inputs none of which is floating, and for
/// senseless options.
GradcheckReport gradcheck(const GradcheckFunction& f, const std::vector<Tensor>& inputs,
                          const GradcheckOptions& options = {});

}  // namespace gradus
