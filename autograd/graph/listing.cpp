#include "gradus/autograd/graph/listing.hpp"

namespace gradus::autograd {

Listing::Listing(const std::vector<Tensor>& ys, const LeafNames& names) {
  std::vector<const Node*> roots;
  for (const Tensor& y : ys) {
    if (!y.defined() || !y.requires_grad())
      fail("graph", "needs a tensor that requires a gradient. Hint: nothing is recorded under NoGrad.");
    roots.push_back(y.impl()->node.get());
  }
  for (const auto& [name, leaf] : names)
    if (leaf.defined() && leaf.requires_grad()) names_.emplace(leaf.impl()->node.get(), name);
  ops = ops_below(roots);
  for (size_t i = 0; i < ops.size(); ++i) names_[ops[i]] = concat("%", i + 1);
  for (const Node* op : ops)
    for (const Edge& e : op->edges) add_leaf(e.to.get());
  for (const Node* root : roots) add_leaf(root);
  nodes = leaves;
  nodes.insert(nodes.end(), ops.begin(), ops.end());
  for (const Node* node : nodes) ids_.emplace(node, ids_.size());
}

void Listing::add_leaf(const Node* node) {
  if (!node || !node->is_leaf() || !seen_.insert(node).second) return;
  leaves.push_back(node);
  names_.emplace(node, concat("leaf", leaves.size()));
}

Tensor tensor_at(const Node& node) {
  const Tensor value = value_of(node);
  Tensor tensor = value.defined() ? value.detach() : empty({0}, node.dtype);
  tensor.impl()->node = Ref<Node>(const_cast<Node*>(&node));  // NOLINT: graphs list const vertices
  return tensor;
}

}  // namespace gradus::autograd
