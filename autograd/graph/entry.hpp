// What record() and record_many() have in common on the way into the graph.
#pragma once

#include <span>
#include <vector>

#include "gradus/autograd/graph/anomaly.hpp"
#include "gradus/autograd/graph/anomaly_check.hpp"
#include "gradus/autograd/graph/node.hpp"
#include "gradus/autograd/graph/op_names.hpp"
#include "gradus/autograd/graph/profile.hpp"

namespace gradus::autograd {

using Inputs = std::span<const Tensor>;

/// Shows the results of an op to the profile and to AnomalyMode, where they are on; inputs() says what it was
/// given.
template <class F>
void look_at(OpName op, std::span<const Tensor> outs, const F& inputs) {
  if (active_profile) [[unlikely]]
    profile_op(op.name, outs.empty() ? Shape() : outs[0].shape());
  if (anomaly_mode) [[unlikely]]
    for (const Tensor& out : outs) check_value(op.name, out, inputs());
}

/// Whether a gradient flows to one of them.
inline bool is_recorded(Inputs inputs) {
  if (!grad_enabled()) return false;
  for (const Tensor& x : inputs)
    if (x.defined() && x.requires_grad()) return true;
  return false;
}

/// A new vertex with an edge, without a pull of its own, for each input.
inline Ref<Node> node_above(Inputs inputs, Node::Kind kind, OpName op, const Shape& shape, DType dtype) {
  Ref<Node> node = Node::make(kind, op.name, shape, dtype);
  for (const Tensor& x : inputs) node->edges.emplace_back(x);
  return node;
}

}  // namespace gradus::autograd
