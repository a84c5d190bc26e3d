// What the parts of gradcheck share: functions of several results, and their numbers in one row.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus::gradchecking {

/// Several results, because the gradient of a function of several inputs has several.
using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
using Numbers = std::vector<double>;

bool same_bits(const Numbers& a, const Numbers& b);
double dot(const Numbers& a, const Numbers& b);

/// All elements of float64 tensors, one tensor after the other.
Numbers flatten(const std::vector<Tensor>& tensors);
/// The inverse, given tensors of the shapes wanted.
std::vector<Tensor> unflatten(const Numbers& all, const std::vector<Tensor>& like);

/// grad(), with zeros for what does not depend.
std::vector<Tensor> gradients(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                              const std::vector<Tensor>& cotangents, bool create_graph);

}  // namespace gradus::gradchecking
