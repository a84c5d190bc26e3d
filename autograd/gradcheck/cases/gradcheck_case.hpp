// GradcheckCase: one function at one point, on which an op's gradient is checked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gradus/autograd/gradcheck/gradcheck.hpp"
#include "gradus/autograd/values/tensor.hpp"

namespace gradus {

struct GradcheckCase {
  std::string op;    ///< a name of kRecordedOps or kComposedOps
  std::string name;  ///< what is special about it
  std::vector<Tensor> inputs;
  GradcheckFunction f;
  int max_order = 2;
  double eps = GradcheckOptions{}.eps;
  double tolerance = GradcheckOptions{}.tolerance;
};

/// Checks one case up to `order`, or to its max_order if that is lower.
GradcheckReport run_gradcheck(const GradcheckCase& c, int order, uint64_t seed = 0);

}  // namespace gradus
