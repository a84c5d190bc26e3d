#include "gradus/autograd/graph/trace.hpp"

namespace gradus {

constinit thread_local autograd::Trace* autograd::active_trace = nullptr;

void autograd::Trace::add(std::string_view op, std::vector<Tensor> inputs, std::vector<Tensor> outputs) {
  std::vector<bool> linked;
  for (const Tensor& x : inputs) linked.push_back(grad_enabled() && x.defined() && x.requires_grad());
  calls.push_back(
      {op, std::move(inputs), std::move(linked), std::move(outputs), std::exchange(attributes, {})});
}

}  // namespace gradus
