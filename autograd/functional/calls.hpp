// The parts of derivatives of functions: a recorded call, and products with its derivative. Internal.
#pragma once

#include <string_view>
#include <vector>

#include "gradus/autograd/functional/function.hpp"

namespace gradus::derivatives {

/// A function's inputs and results.
struct Call {
  std::vector<Tensor> inputs, outputs;
};

/// Calls f at copies of the inputs that record.
Call call(std::string_view op, const ListFunction& f, const std::vector<Tensor>& given, bool create_graph);

/// Throws Error unless there is a vector of the shape and dtype of each tensor of `like`.
void check_vectors(std::string_view op, const std::vector<Tensor>& v, const std::vector<Tensor>& like);

/// The gradient of sum(v_i * outputs_i); 0 for an input that nothing depends on.
std::vector<Tensor> pull_back(std::string_view op, const std::vector<Tensor>& outputs,
                              const std::vector<Tensor>& v, const std::vector<Tensor>& inputs,
                              const DerivativeOptions& options);

/// J v by two backward passes: v^T J is linear in its v, with the factor J.
autograd::Products pushed_by_rules(const Call& c, const std::vector<Tensor>& v,
                                   const DerivativeOptions& options);

/// The results and the product, outside the graph unless options ask for it.
autograd::Products finish(const Call& c, std::vector<Tensor> product, const DerivativeOptions& options);

}  // namespace gradus::derivatives
