// The part of BackwardPass for functions of several results, and for checkpoints.
#include <utility>

#include "gradus/autograd/engine/backward_pass.hpp"
#include "gradus/autograd/graph/profile.hpp"
#include "gradus/autograd/tensor/raw.hpp"

namespace gradus::autograd {

void BackwardPass::visit_multi_output(Node& node) {
  const auto found = waiting_.find(&node);
  if (found == waiting_.end()) return;
  std::vector<Tensor> gys = std::move(found->second);
  waiting_.erase(found);
  running_op = node.op;
  refuse_if_released(node);
  if (node.multi->recompute)
    expand_checkpoint(node, std::move(gys));
  else
    pull_multi_output(node, gys);
}

void BackwardPass::pull_multi_output(Node& node, const std::vector<Tensor>& gys) {
  bool any = false;
  const Needs needs = needs_of(node, any);
  if (!any) return;
  const ProfileSpan span(node.op, ProfileEvent::Phase::backward,
                         gys.empty() ? nullptr : &node.multi->results[0].shape);
  std::vector<Tensor> arrived = gys;
  for (size_t i = 0; i < arrived.size(); ++i) {
    const MultiOutput::Result& r = node.multi->results[i];
    if (!arrived[i].defined() && r.differentiable) arrived[i] = raw::full(r.shape, 0.0, r.dtype);
  }
  std::vector<Tensor> gxs = node.multi->rule(arrived, outputs_of_multi_output(node), needs);
  check_count(node, gxs);
  for (size_t i = 0; i < node.edges.size(); ++i) {
    if (!is_needed(node.edges[i])) continue;
    const Ref<Node>& to = node.edges[i].to;
    if (anomaly_) [[unlikely]]
      check_for_anomaly(node, *to, gxs[i], gys);
    add(slot_of(*to), *to, std::move(gxs[i]));
  }
  if (release_) node.release();
}

// The recomputed ops take the checkpoint's place: they are walked now, in their order, and add to the slots
// of their inputs, one contribution after the other, as if they had been there from the start.
void BackwardPass::expand_checkpoint(Node& node, std::vector<Tensor> gys) {
  const size_t first = slots_.size();
  {
    std::vector<Tensor> ys;
    {
      const GradMode on(true);
      ys = node.multi->recompute();
    }
    for (size_t i = 0; i < ys.size(); ++i)
      if (gys[i].defined()) visit(ys[i].impl()->node);
    for (size_t i = first; i < slots_.size(); ++i)
      if (const Node& inner = *slots_[i].node; !inner.is_leaf() && inner.sequence < node.sequence)
        fail(node.op, "the function must use the same tensors when it runs again, got ", describe(inner),
             ", which it did not use at first.");
    for (size_t i = 0; i < ys.size(); ++i)
      if (gys[i].defined()) add(slot_of(*ys[i].impl()->node), *ys[i].impl()->node, std::move(gys[i]));
  }
  const Order order = order_from(first);
  if (accumulate_)
    for (const size_t i : order) slots_[i].needed = true;
  else
    mark_needed(order);

  if (release_) node.release();
  const bool outer_release = std::exchange(release_, !create_graph_);  // next time there will be new ones
  const size_t outer_first = recomputed_from_;
  if (recomputed_from_ == 0) recomputed_from_ = first;
  walk(order);
  recomputed_from_ = outer_first;
  release_ = outer_release;
  forget_from(first);
}

// The results' own vertices may be gone, so new ones stand in for them.
std::vector<Tensor> BackwardPass::outputs_of_multi_output(Node& node) const {
  std::vector<Tensor> ys;
  for (size_t i = 0; i < node.multi->outputs.size(); ++i) {
    const Tensor& y = *node.multi->outputs[i];
    const bool tie = create_graph_ && node.multi->results[i].differentiable;
    ys.push_back(tie ? attach(y, Node::result_of(Ref<Node>(&node), i)) : y);
  }
  return ys;
}

}  // namespace gradus::autograd
