#include "gradus/autograd/graph/record_many.hpp"

#include "gradus/autograd/graph/block.hpp"
#include "gradus/autograd/graph/entry.hpp"

namespace gradus {

using autograd::Block;
using autograd::Node;
using autograd::Ref;

std::vector<Tensor> record_many(OpName op, std::vector<Tensor> outs, const std::vector<Tensor>& inputs,
                                ManyRule rule) {
  autograd::look_at(op, outs, [&] { return inputs; });
  if (!autograd::is_recorded(inputs)) return outs;
  for (size_t i = 0; i < outs.size(); ++i)
    for (size_t k = 0; k < i; ++k)
      if (outs[i].impl() == outs[k].impl())
        fail(op.name, "needs a tensor for each result, got one for results ", k, " and ", i, ".");

  const Ref<Node> node = autograd::node_above(inputs, Node::Kind::block, op, {}, DType::float32);
  node->block = std::make_unique<Block>();
  node->block->rule = std::move(rule);
  for (const Tensor& out : outs) {
    node->block->results.push_back({out.shape(), out.dtype(), is_floating(out.dtype())});
    node->block->outputs.emplace_back(out.detach());
  }
  for (size_t i = 0; i < outs.size(); ++i)
    if (is_floating(outs[i].dtype())) outs[i].impl()->node = Node::result_of(node, i);
  return outs;
}

}  // namespace gradus
