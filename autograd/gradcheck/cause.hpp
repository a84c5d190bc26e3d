// Why is this gradient wrong? Compares it with the right one in the ways in which rules usually go wrong.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gradus/autograd/gradcheck/numbers.hpp"

namespace gradus::gradchecking {

/// What is known of one input whose gradient is wrong.
struct Evidence {
  Shape input;                               ///< its shape
  std::vector<Shape> outputs;                ///< of the results
  Numbers cotangent;                         ///< of all results
  std::function<Numbers(Numbers)> numeric;   ///< the right gradient for a cotangent, by differences
  std::function<Numbers(Numbers)> analytic;  ///< what the rule gives for it
};

/// In a few words and without a full stop: "the gradient is -1 times the right one: a wrong sign".
std::string likely_cause(const Evidence& evidence);

}  // namespace gradus::gradchecking
