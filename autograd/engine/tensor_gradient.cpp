// What a Tensor says of its gradient: members of tensor/tensor.hpp.
#include "gradus/autograd/engine/backward.hpp"
#include "gradus/autograd/graph/node.hpp"

namespace gradus {

Tensor& Tensor::requires_grad_(bool on) {
  const bool is_result = requires_grad() && !impl_->node->is_leaf();
  if (is_result)
    fail("requires_grad_", "needs a leaf, got the result of ", impl_->node->op, ". Hint: detach() it first.");
  if (on && !is_floating(dtype())) fail("requires_grad_", "needs floating values, got ", name(dtype()), ".");
  if (on && !impl_->node) impl_->node = autograd::Node::leaf(shape(), dtype());
  if (!on) impl_->node = {};
  impl_->frozen = !on;
  return *this;
}

Tensor Tensor::grad() const { return requires_grad() ? impl_->node->grad : Tensor(); }

void Tensor::set_grad(const Tensor& grad) {
  if (!requires_grad() || !impl_->node->is_leaf()) fail("set_grad", "needs a leaf that requires a gradient.");
  if (grad.defined() && (grad.shape() != shape() || grad.dtype() != dtype()))
    fail("set_grad", "needs ", name(dtype()), " ", shape(), ", got ", name(grad.dtype()), " ", grad.shape(),
         ".");
  impl_->node->grad = grad;
}

void Tensor::zero_grad() {
  if (requires_grad()) impl_->node->grad = {};
}

void Tensor::backward(const Tensor& gradient, bool retain_graph, bool create_graph) const {
  gradus::backward({*this}, {gradient}, retain_graph, create_graph);
}

}  // namespace gradus
