#include "gradus/autograd/graph/trace.hpp"

namespace gradus::autograd {

constinit thread_local Trace* active_trace = nullptr;

std::vector<Attribute>& next_attributes() {
  thread_local std::vector<Attribute> attributes;
  return attributes;
}

void trace_call(std::string_view op, std::vector<Tensor> inputs, std::vector<Tensor> outputs) {
  std::vector<bool> linked;
  for (const Tensor& x : inputs) linked.push_back(grad_enabled() && x.defined() && x.requires_grad());
  TracedCall call{op, std::move(inputs), std::move(linked), std::move(outputs),
                  std::exchange(next_attributes(), {})};
  if (is_by_definition()) compute_by_definition(call);
  if (active_trace) active_trace->calls.push_back(std::move(call));
}

}  // namespace gradus::autograd
