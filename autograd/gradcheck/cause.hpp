// The likely cause of a wrong gradient. Internal.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gradus/autograd/gradcheck/function.hpp"

namespace gradus::gradchecking {

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
