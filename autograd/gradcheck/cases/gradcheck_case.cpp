#include "gradus/autograd/gradcheck/cases/gradcheck_case.hpp"

#include <algorithm>

namespace gradus {

GradcheckReport run_gradcheck(const GradcheckCase& c, int order, uint64_t seed) {
  GradcheckOptions options;
  options.order = std::min(order, c.max_order);
  options.eps = c.eps;
  options.tolerance = c.tolerance;
  options.seed = seed;
  return gradcheck(c.f, c.inputs, options);
}

}  // namespace gradus
