#include "gradus/autograd/engine/backward.hpp"

#include "gradus/autograd/engine/run.hpp"

namespace gradus {

std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         const GradOptions& options) {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].defined() || !inputs[i].requires_grad())
      fail("grad", "input ", i,
           " requires no gradient. Hint: call requires_grad_() before computing the outputs.");
  autograd::Run run(options.create_graph, options.retain_graph);
  run.start(outputs, options.grad_outputs);
  std::vector<Tensor> results = run.collect(inputs);
  for (size_t i = 0; i < results.size(); ++i)
    if (!results[i].defined() && !options.allow_unused)
      fail("grad", "no output depends on input ", i,
           ". Hint: pass allow_unused to get an undefined gradient.");
  return results;
}

void backward(const std::vector<Tensor>& outputs, const std::vector<Tensor>& grad_outputs, bool retain_graph,
              bool create_graph) {
  autograd::Run run(create_graph, retain_graph);
  run.start(outputs, grad_outputs);
  run.accumulate_leaves();
}

}  // namespace gradus
