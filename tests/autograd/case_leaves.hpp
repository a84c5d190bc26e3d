// The inputs of gradcheck's cases as leaves.
#pragma once

#include <set>

#include "autograd/compare.hpp"
#include "gradus/autograd/gradcheck/cases/gradcheck_cases.hpp"
#include "gradus/autograd/graph/record.hpp"

namespace gradus::testing {

/// The ops of the library.
inline std::set<std::string> library_ops() {
  std::set<std::string> ops(kRecordedOps.begin(), kRecordedOps.end());
  ops.insert(kComposedOps.begin(), kComposedOps.end());
  return ops;
}

/// The inputs of a case, the floating ones in that dtype.
inline std::vector<Tensor> inputs_in(const GradcheckCase& c, DType dtype) {
  std::vector<Tensor> inputs;
  for (const Tensor& x : c.inputs) inputs.push_back(is_floating(x.dtype()) ? x.to(dtype) : x);
  return inputs;
}

/// The inputs as leaves, on the same memory.
inline std::vector<Tensor> leaves_of(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> leaves;
  for (const Tensor& x : inputs) {
    leaves.push_back(x.detach());
    if (is_floating(x.dtype())) leaves.back().requires_grad_();
  }
  return leaves;
}

inline std::vector<Tensor> floating(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> some;
  for (const Tensor& t : tensors)
    if (is_floating(t.dtype())) some.push_back(t);
  return some;
}

/// The gradients of the sum of f's result by those that are floating.
inline std::vector<Tensor> gradients_of_sum(const Tensor& y, const std::vector<Tensor>& leaves,
                                            bool create_graph = false) {
  return grad(
      {y}, floating(leaves),
      {.grad_outputs = {ones(y.shape(), y.dtype())}, .create_graph = create_graph, .allow_unused = true});
}

}  // namespace gradus::testing
