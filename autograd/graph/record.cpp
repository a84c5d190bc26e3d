#include "gradus/autograd/graph/record.hpp"

#include "gradus/autograd/graph/entry.hpp"

namespace gradus {

using autograd::Edge;
using autograd::Inputs;
using autograd::look_at;
using autograd::Node;
using autograd::Ref;

namespace {

Tensor record_joint(OpName op, Tensor out, Inputs inputs, JointRule rule) {
  look_at(op, {&out, 1}, [&] { return std::vector<Tensor>(inputs.begin(), inputs.end()); });
  if (!autograd::is_recorded(inputs)) return out;
  Ref<Node> node = autograd::node_above(inputs, Node::Kind::op, op, out.shape(), out.dtype());
  if (rule.wants_output()) node->output = Saved(out.detach());
  node->joint = std::move(rule);
  out.impl()->node = std::move(node);
  return out;
}

// The inputs that edges are written with; undefined where that is not known.
std::vector<Tensor> sources(std::initializer_list<Edge> edges) {
  std::vector<Tensor> inputs;
  for (const Edge& e : edges) inputs.push_back(e.source.get() ? *e.source.get() : Tensor());
  return inputs;
}

}  // namespace

Tensor record(OpName op, Tensor out, std::initializer_list<Edge> edges) {
  look_at(op, {&out, 1}, [&] { return sources(edges); });
  bool any = false;
  bool wants_output = false;
  for (const Edge& e : edges) {
    any = any || e.to;
    wants_output = wants_output || e.wants_output;
  }
  if (!any) return out;
  Ref<Node> node = Node::make(Node::Kind::op, op.name, out.shape(), out.dtype());
  node->edges.reserve(edges.size());
  for (const Edge& e : edges)
    if (e.to) node->edges.emplace_back(Edge::kFromList, e);
  if (wants_output) node->output = Saved(out.detach());
  out.impl()->node = std::move(node);
  return out;
}

Tensor record(OpName op, Tensor out, std::initializer_list<Tensor> inputs, JointRule rule) {
  return record_joint(op, std::move(out), {inputs.begin(), inputs.size()}, std::move(rule));
}

Tensor record(OpName op, Tensor out, const std::vector<Tensor>& inputs, JointRule rule) {
  return record_joint(op, std::move(out), inputs, std::move(rule));
}

}  // namespace gradus
