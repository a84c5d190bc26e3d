#include "gradus/autograd/engine/backward.hpp"

#include "gradus/autograd/engine/backward_pass.hpp"
#include "gradus/autograd/tensor/raw.hpp"

namespace gradus {

std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         const GradOptions& options) {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].defined() || !inputs[i].requires_grad())
      fail("grad", "input ", i,
           " requires no gradient. Hint: call requires_grad_() before computing the outputs.");
  autograd::BackwardPass pass(options.create_graph, options.retain_graph);
  pass.start(outputs, options.grad_outputs);
  std::vector<Tensor> results = pass.collect(inputs);
  for (size_t i = 0; i < results.size(); ++i)
    if (!results[i].defined() && !options.allow_unused)
      fail("grad", "no output depends on input ", i,
           ". Hint: pass allow_unused to get an undefined gradient.");
  return results;
}

void backward(const std::vector<Tensor>& outputs, const std::vector<Tensor>& grad_outputs, bool retain_graph,
              bool create_graph) {
  autograd::BackwardPass pass(create_graph, retain_graph);
  pass.start(outputs, grad_outputs);
  pass.accumulate_leaves();
}

std::vector<Tensor> autograd::defined_gradients(const std::vector<Tensor>& outputs,
                                                const std::vector<Tensor>& inputs,
                                                const std::vector<Tensor>& cotangents, bool create_graph) {
  std::vector<Tensor> attached;
  GradOptions options{.create_graph = create_graph, .retain_graph = true, .allow_unused = true};
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].requires_grad()) continue;
    attached.push_back(outputs[i]);
    options.grad_outputs.push_back(cotangents[i]);
  }
  return attached.empty() ? std::vector<Tensor>(inputs.size()) : grad(attached, inputs, options);
}

// The members of Tensor that concern its gradient.

Tensor& Tensor::requires_grad_(bool on) {
  if (!defined()) fail("requires_grad_", "needs a defined tensor, got none.");
  if (requires_grad() && !impl_->node->is_leaf())
    fail("requires_grad_", "needs a leaf, got the result of ", impl_->node->op, ". Hint: detach() it first.");
  if (on && !is_floating(dtype())) fail("requires_grad_", "needs floating values, got ", name(dtype()), ".");
  if (on && !impl_->node) {
    impl_->node = autograd::Node::leaf(shape(), dtype());
    impl_->node->owner = impl_.get();
    const Tensor alias = view_of(*this, shape(), strides(), impl_->offset);
    alias.impl()->node = impl_->node;
    impl_->alias = autograd::Ref<autograd::TensorImpl>(alias.impl());
  }
  impl_->frozen = !on;
  return *this;
}

Tensor Tensor::grad() const { return defined() && impl_->node ? impl_->node->grad : Tensor(); }

void Tensor::set_grad(const Tensor& grad) {
  if (!defined() || !requires_grad() || !impl_->node->is_leaf())
    fail("set_grad", "needs a leaf that requires a gradient.");
  if (grad.defined() && (grad.shape() != shape() || grad.dtype() != dtype()))
    fail("set_grad", "needs ", name(dtype()), " ", shape(), ", got ", name(grad.dtype()), " ", grad.shape(),
         ".");
  const bool keeps = !grad.defined() || grad.requires_grad() || raw::is_sole_owner(grad);
  impl_->node->grad = keeps ? grad : raw::clone(grad);
}

void Tensor::zero_grad() {
  if (defined() && impl_->node) impl_->node->grad = {};
}

void Tensor::backward(const Tensor& gradient, bool retain_graph, bool create_graph) const {
  gradus::backward({*this}, {gradient}, retain_graph, create_graph);
}

}  // namespace gradus
