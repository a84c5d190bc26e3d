#include "gradus/autograd/graph/record_many.hpp"

#include <algorithm>

#include "gradus/autograd/graph/anomaly_check.hpp"
#include "gradus/autograd/graph/block.hpp"
#include "gradus/autograd/graph/profile.hpp"

namespace gradus {

Ref<Node> make_result(const Ref<Node>& block, size_t i) {
  const Block::Result& r = block->block->results[i];
  Ref<Node> node = Node::make(Node::Kind::result, block->op, r.shape, r.dtype);
  node->result = static_cast<uint32_t>(i);
  node->edges.emplace_back(Tensor());
  node->edges[0].to = block;
  return node;
}

std::vector<Tensor> record_many(OpName op, std::vector<Tensor> outs, const std::vector<Tensor>& inputs,
                                ManyRule rule) {
  if (active_profile) [[unlikely]]
    profile_op(op.name, outs.empty() ? Shape() : outs[0].shape());
  if (anomaly_mode) [[unlikely]]
    for (const Tensor& out : outs) check_value(op.name, out, inputs);
  const bool any = std::any_of(inputs.begin(), inputs.end(),
                               [](const Tensor& x) { return x.defined() && x.requires_grad(); });
  if (!grad_enabled() || !any) return outs;
  for (size_t i = 0; i < outs.size(); ++i)
    for (size_t k = 0; k < i; ++k)
      if (outs[i].impl() == outs[k].impl())
        fail(op.name, "needs a tensor for each result, got one for results ", k, " and ", i, ".");

  Ref<Node> node = Node::make(Node::Kind::block, op.name, {}, DType::float32);
  for (const Tensor& x : inputs) node->edges.emplace_back(x);
  node->block = std::make_unique<Block>();
  node->block->rule = std::move(rule);
  for (const Tensor& out : outs) {
    node->block->results.push_back({out.shape(), out.dtype(), is_floating(out.dtype())});
    node->block->outputs.emplace_back(out.detach());
  }
  for (size_t i = 0; i < outs.size(); ++i)
    if (is_floating(outs[i].dtype())) outs[i].impl()->node = make_result(node, i);
  return outs;
}

}  // namespace gradus
