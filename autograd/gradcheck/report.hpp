// What gradcheck() is asked and what it answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gradus {

/// How closely, and how often, gradcheck() looks.
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

/// What gradcheck() found.
struct GradcheckReport {
  bool passed = false;  ///< whether all comparisons did
  int64_t checks = 0;   ///< comparisons made; none made is not a pass
  double worst =
      0;  ///< largest error as a multiple of what is allowed; infinite where a number was not finite
  /// The worst failure: order, input, position, both numbers, seed, likely cause; empty if passed.
  std::string message;
  /// What is likely wrong with the gradient of the worst input: a factor, a sign, a transpose, a missing sum,
  /// an ignored upstream gradient... Empty if passed, or if it cannot be told.
  std::string cause;
  std::vector<GradcheckInput> inputs;                ///< each checked input, at each order
  explicit operator bool() const { return passed; }  ///< passed
};

}  // namespace gradus
