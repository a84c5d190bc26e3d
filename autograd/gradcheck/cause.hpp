// The parts of gradcheck(): functions of several results, their elements in one row, and the likely cause of
// a wrong gradient. Internal.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus::gradchecking {

/// Several results, because the gradient of a function of several inputs has several.
using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
using Numbers = std::vector<double>;

double dot(const Numbers& a, const Numbers& b);

/// All elements of float64 tensors, one tensor after the other.
Numbers flatten(const std::vector<Tensor>& tensors);
/// The inverse, given tensors of the wanted shapes.
std::vector<Tensor> unflatten(const Numbers& all, const std::vector<Tensor>& like);

/// grad(), with zeros for an input that no output depends on.
std::vector<Tensor> gradients(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                              const std::vector<Tensor>& cotangents, bool create_graph);

/// The facts about one input whose gradient is wrong.
struct Evidence {
  Shape input;                               ///< its shape
  std::vector<Shape> outputs;                ///< of the results
  Numbers cotangent;                         ///< of all results
  std::function<Numbers(Numbers)> numeric;   ///< the right gradient for a cotangent, by differences
  std::function<Numbers(Numbers)> analytic;  ///< the gradient that the rule gives for it
};

/// A short text without a full stop: "the gradient is -1 times the right one: a wrong sign".
std::string likely_cause(const Evidence& evidence);

}  // namespace gradus::gradchecking
