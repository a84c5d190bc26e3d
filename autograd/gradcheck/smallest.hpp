// The smallest inputs at which a check fails. Internal.
#pragma once

#include <vector>

#include "gradus/autograd/gradcheck/gradcheck.hpp"

namespace gradus::gradchecking {

/// Fills in report.smallest after a check of f that found a wrong rule: cuts the inputs along their dims,
/// those of one size together, if f takes any shape, and sets elements to 0 or 1, while the rule fails.
void find_smallest(const GradcheckFunction& f, const std::vector<Tensor>& inputs,
                   const GradcheckOptions& options, GradcheckReport& report);

}  // namespace gradus::gradchecking
