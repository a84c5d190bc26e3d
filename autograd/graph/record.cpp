#include "gradus/autograd/graph/record.hpp"

#include <span>

#include "gradus/autograd/graph/anomaly_check.hpp"
#include "gradus/autograd/graph/profile.hpp"
#include "gradus/autograd/graph/trace.hpp"

namespace gradus {

using autograd::Edge;
using autograd::MultiOutput;
using autograd::Node;
using autograd::Ref;

namespace {

using Inputs = std::span<const Tensor>;

// Passes the results of an op to the profile, the trace, its definition, AnomalyMode and KeepValues, if they
// are on; inputs() are its inputs.
template <class F>
void observe(OpName op, std::span<const Tensor> outs, const F& inputs) {
  if (active_profile) [[unlikely]]
    profile_op(op.name, outs.empty() ? Shape() : outs[0].shape());
  if (autograd::is_traced()) [[unlikely]]
    autograd::trace_call(op.name, inputs(), {outs.begin(), outs.end()});
  if (autograd::anomaly_mode) [[unlikely]]
    for (const Tensor& out : outs) autograd::check_value(op.name, out, inputs());
  if (autograd::keep_values) [[unlikely]]
    for (const Tensor& x : inputs())
      if (x.defined() && x.requires_grad() && x.impl()->node->is_leaf())
        x.impl()->node->output = Saved(x.detach());
}

// The result itself if nothing else holds it, or an alias: an input must not become the result of this op.
Tensor fresh(OpName op, Tensor out) {
  if (!out.defined()) fail(op.name, "needs a defined result, got none.");
  return out.impl()->node || out.impl()->use_count() > 1 ? out.detach() : out;
}

// Whether a gradient flows to one of them.
bool is_recorded(Inputs inputs) {
  if (!grad_enabled()) return false;
  for (const Tensor& x : inputs)
    if (x.defined() && x.requires_grad()) return true;
  return false;
}

// A new vertex with an edge for each input, to which a joint rule gives the gradients.
Ref<Node> node_above(Inputs inputs, Node::Kind kind, OpName op, const Shape& shape, DType dtype) {
  Ref<Node> node = Node::make(kind, op.name, shape, dtype);
  for (const Tensor& x : inputs) node->edges.emplace_back(x);
  return node;
}

Tensor record_joint(OpName op, Tensor out, Inputs inputs, JointRule rule) {
  observe(op, {&out, 1}, [&] { return std::vector<Tensor>(inputs.begin(), inputs.end()); });
  if (!is_recorded(inputs)) return out;
  out = fresh(op, std::move(out));
  Ref<Node> node = node_above(inputs, Node::Kind::op, op, out.shape(), out.dtype());
  if (rule.wants_output() || autograd::keep_values) node->output = Saved(out.detach());
  node->joint = std::move(rule);
  out.impl()->node = std::move(node);
  return out;
}

// The inputs of the edges; undefined if unknown.
std::vector<Tensor> sources(std::initializer_list<Edge> edges) {
  std::vector<Tensor> inputs;
  for (const Edge& e : edges) inputs.push_back(e.source ? *e.source : Tensor());
  return inputs;
}

}  // namespace

Tensor record(OpName op, Tensor out, std::initializer_list<Edge> edges) {
  observe(op, {&out, 1}, [&] { return sources(edges); });
  bool any = false;
  bool wants_output = autograd::keep_values;
  for (const Edge& e : edges) {
    any = any || e.to;
    wants_output = wants_output || e.wants_output;
  }
  if (!any) return out;
  out = fresh(op, std::move(out));
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

std::vector<Tensor> record_many(OpName op, std::vector<Tensor> outs, const std::vector<Tensor>& inputs,
                                ManyRule rule) {
  observe(op, outs, [&] { return inputs; });
  if (!is_recorded(inputs)) return outs;
  for (size_t i = 0; i < outs.size(); ++i)
    for (size_t k = 0; k < i; ++k)
      if (outs[i].impl() == outs[k].impl())
        fail(op.name, "needs a tensor for each result, got one for results ", k, " and ", i, ".");

  const Ref<Node> node = node_above(inputs, Node::Kind::multi_output, op, {}, DType::float32);
  node->multi = std::make_unique<MultiOutput>();
  node->multi->rule = std::move(rule);
  for (Tensor& out : outs) {
    out = fresh(op, std::move(out));
    node->multi->results.push_back({out.shape(), out.dtype(), is_floating(out.dtype())});
    node->multi->outputs.emplace_back(out.detach());
  }
  for (size_t i = 0; i < outs.size(); ++i)
    if (is_floating(outs[i].dtype())) outs[i].impl()->node = Node::result_of(node, i);
  return outs;
}

}  // namespace gradus
