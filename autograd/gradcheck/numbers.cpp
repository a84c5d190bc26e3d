#include "gradus/autograd/gradcheck/numbers.hpp"

#include <cstring>

#include "gradus/autograd/engine/backward.hpp"
#include "gradus/autograd/ops/ops.hpp"

namespace gradus::gradchecking {

bool same_bits(const Numbers& a, const Numbers& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

double dot(const Numbers& a, const Numbers& b) {
  double sum = 0;
  for (size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
  return sum;
}

Numbers flatten(const std::vector<Tensor>& tensors) {
  Numbers all;
  for (const Tensor& t : tensors) {
    const Numbers one = t.to_vector<double>();
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

std::vector<Tensor> unflatten(const Numbers& all, const std::vector<Tensor>& like) {
  std::vector<Tensor> tensors;
  auto from = all.begin();
  for (const Tensor& t : like) {
    tensors.push_back(tensor(Numbers(from, from + t.numel()), t.shape()));
    from += t.numel();
  }
  return tensors;
}

std::vector<Tensor> gradients(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                              const std::vector<Tensor>& cotangents, bool create_graph) {
  std::vector<Tensor> attached;
  GradOptions options{.create_graph = create_graph, .retain_graph = true, .allow_unused = true};
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].requires_grad()) continue;
    attached.push_back(outputs[i]);
    options.grad_outputs.push_back(cotangents[i]);
  }
  std::vector<Tensor> result(inputs.size());
  if (!attached.empty()) result = grad(attached, inputs, options);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!result[i].defined()) result[i] = zeros(inputs[i].shape(), inputs[i].dtype());
  return result;
}

}  // namespace gradus::gradchecking
