// Forward mode through traced calls.
#pragma once

#include <vector>

#include "gradus/autograd/graph/trace.hpp"

namespace gradus::reference {

/// The tangents of the outputs of a function for tangents v of its inputs, which are leaves on memory of
/// their own; of the dtypes of the outputs. As for gradients, what is detached, or computed without a graph,
/// is constant. Empty if the calls need a user's rule, or do not lead to the outputs.
std::vector<Tensor> forward(const autograd::Trace& trace, const std::vector<Tensor>& inputs,
                            const std::vector<Tensor>& v, const std::vector<Tensor>& outputs);

}  // namespace gradus::reference
