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

#include <functional>
#include <vector>

#include "gradus/autograd/gradcheck/report.hpp"
#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus {

/// Of any number of float64 tensors; it must not depend on anything that changes between calls.
using GradcheckFunction = std::function<Tensor(const std::vector<Tensor>&)>;

/// Checks d f / d input for the inputs that require gradients, or for all floating ones if none does.
/// `inputs` are copied and left alone. Errors from gradient rules fail the check; those of `f` itself pass
/// through. Throws Error for float32 inputs or results, for inputs none of which is floating, and for
/// senseless options.
GradcheckReport gradcheck(const GradcheckFunction& f, const std::vector<Tensor>& inputs,
                          const GradcheckOptions& options = {});

}  // namespace gradus
