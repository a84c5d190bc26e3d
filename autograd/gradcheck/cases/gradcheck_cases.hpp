// The cases on which the tests and `gradus gradcheck` check every op. An op without a case fails a test.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gradus/autograd/gradcheck/gradcheck.hpp"

namespace gradus {

/// One call of an op.
struct GradcheckCase {
  std::string op;                                   ///< a name of kRecordedOps or kComposedOps
  std::string name;                                 ///< the property that this case covers
  std::vector<Tensor> inputs;                       ///< float64, and int64 or bool where the op takes those
  GradcheckFunction f;                              ///< calls the op
  int max_order = 2;                                ///< the highest order at which it can be checked
  double eps = GradcheckOptions{}.eps;              ///< see GradcheckOptions
  double tolerance = GradcheckOptions{}.tolerance;  ///< see GradcheckOptions
};

/// Checks one case up to `order`, or to its max_order if that is lower. `inspect`: see GradcheckOptions.
GradcheckReport run_gradcheck(const GradcheckCase& c, int order, uint64_t seed = 0,
                              const std::function<void(const CheckedGraph&)>& inspect = nullptr);

/// Makes all cases, with the same numbers each time.
std::vector<GradcheckCase> gradcheck_cases();

}  // namespace gradus
