// The engine: walks a recorded graph from outputs to inputs, newest op first, and sums gradients
// (reverse-mode differentiation). It does not recurse, so graphs may be as deep as memory allows. It runs on
// the calling thread; kernels use the thread pool. Thread-safety: see tensor/tensor.hpp.
#pragma once

#include <vector>

#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus {

/// Options of grad().
struct GradOptions {
  /// Cotangents, one for each output; undefined means 1 (scalars only).
  std::vector<Tensor> grad_outputs = {};
  bool create_graph = false;  ///< record the computation, so that the result can be differentiated again
  bool retain_graph = false;  ///< keep the graph for another call; implied by create_graph
  bool allow_unused = false;  ///< return undefined for an input that no output depends on
};

/// d(sum of cotangent * output)/d(input) for each input; changes no `.grad()`. Throws Error if an output
/// needs no gradient or has no cotangent and is not a scalar, if an input requires no gradient or (unless
/// allow_unused) is unused, if the graph was freed before, or if a saved tensor was overwritten.
std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         const GradOptions& options = {});

/// Adds gradients to the `.grad()` of every leaf. Same errors as grad().
void backward(const std::vector<Tensor>& outputs, const std::vector<Tensor>& grad_outputs = {},
              bool retain_graph = false, bool create_graph = false);

namespace autograd {
/// grad() of the outputs that require a gradient, with their cotangents; keeps the graph. Undefined for an
/// input that no output depends on.
std::vector<Tensor> defined_gradients(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                                      const std::vector<Tensor>& cotangents, bool create_graph);
}  // namespace autograd

}  // namespace gradus
