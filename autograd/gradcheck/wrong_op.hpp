// The op that makes a gradient wrong. Internal.
#pragma once

#include <vector>

#include "gradus/autograd/gradcheck/function.hpp"
#include "gradus/autograd/gradcheck/gradcheck.hpp"

namespace gradus::gradchecking {

/// Fills in report.wrong_op, after a check of f that failed, and says it in report.message. It compares, for
/// each op, a random combination of its results (at order 2, of the gradients of one) along a random
/// direction of the checked inputs, as gradcheck() does for the last op.
void find_wrong_op(const Function& f, const std::vector<Tensor>& inputs, const std::vector<size_t>& checked,
                   const GradcheckOptions& options, GradcheckReport& report);

/// Calls options.inspect with the graph of f at the inputs.
void inspect(const Function& f, const std::vector<Tensor>& inputs, const std::vector<size_t>& checked,
             const GradcheckOptions& options, const GradcheckReport& report);

}  // namespace gradus::gradchecking
