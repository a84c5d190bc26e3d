#include "gradus/autograd/engine/backward_pass.hpp"

#include <algorithm>
#include <atomic>

#include "gradus/autograd/engine/differentiable.hpp"
#include "gradus/autograd/graph/anomaly_check.hpp"
#include "gradus/autograd/graph/hooks.hpp"
#include "gradus/autograd/graph/profile.hpp"
#include "gradus/autograd/tensor/raw.hpp"

namespace gradus::autograd {
namespace {

std::atomic<uint64_t> next_pass{1};

// Whether no other handle sees the values.
bool is_sole_owner(const Tensor& t) {
  return t.impl()->use_count() == 1 && t.impl()->storage->use_count() == 1 && t.is_contiguous();
}

// Undoes broadcasting: sums the dimensions in which `shape` is smaller. Returns a g that did not come from
// `shape` by broadcasting unchanged.
Tensor sum_to(const Tensor& g, const Shape& shape) {
  const int lead = g.dim() - shape.size();
  if (g.shape() == shape || lead < 0) return g;
  std::vector<int64_t> dims;
  for (int i = 0; i < g.dim(); ++i) {
    if (i >= lead && shape[i - lead] == g.shape()[i]) continue;
    if (i >= lead && shape[i - lead] != 1) return g;
    dims.push_back(i);
  }
  return differentiable::sum(g, dims).reshape(shape);
}

Tensor cotangent(const Tensor& y, const Tensor& given) {
  if (given.defined()) {
    if (given.shape() != y.shape() || given.dtype() != y.dtype())
      fail("backward", "the gradient must be ", name(y.dtype()), " ", y.shape(), " like the output, got ",
           name(given.dtype()), " ", given.shape(), ".");
    return given;
  }
  if (y.numel() != 1)
    fail("backward", "needs a scalar, got shape ", y.shape(), ". Hint: take mean() or pass a gradient.");
  return raw::full(y.shape(), 1.0, y.dtype());
}

}  // namespace

BackwardPass::BackwardPass(bool create_graph, bool retain_graph)
    : id_(next_pass.fetch_add(1)),
      outer_op_(running_op),
      create_graph_(create_graph),
      release_(!retain_graph && !create_graph),
      anomaly_(anomaly_mode) {
  slots_.reserve(32);  // so that a small graph costs one allocation
}

BackwardPass::~BackwardPass() {
  forget_from(0);
  running_op = outer_op_;
}

void BackwardPass::start(const std::vector<Tensor>& outputs, const std::vector<Tensor>& cotangents) {
  if (!cotangents.empty() && cotangents.size() != outputs.size())
    fail("grad", "needs one cotangent an output, got ", cotangents.size(), " for ", outputs.size(), ".");
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& y = outputs[i];
    if (!y.defined() || !y.requires_grad())
      fail("backward",
           "the output requires no gradient. Hint: it depends on no tensor with requires_grad, or was "
           "computed under NoGrad.");
    visit(y.impl()->node);
    add(slot_of(*y.impl()->node), *y.impl()->node,
        cotangent(y, i < cotangents.size() ? cotangents[i] : Tensor()));
  }
}

void BackwardPass::accumulate_leaves() {
  accumulate_ = true;
  for (Slot& s : slots_) s.needed = true;
  walk(order_from(0));
}

std::vector<Tensor> BackwardPass::collect(const std::vector<Tensor>& inputs) {
  for (const Tensor& x : inputs)
    if (is_reached(*x.impl()->node)) slot_of(*x.impl()->node).wanted = true;
  const Order order = order_from(0);
  mark_needed(order);
  walk(order);
  std::vector<Tensor> results;
  for (const Tensor& x : inputs)
    results.push_back(is_reached(*x.impl()->node) ? own(slot_of(*x.impl()->node).result) : Tensor());
  return results;
}

// Gives every vertex below `root` a slot.
void BackwardPass::visit(const Ref<Node>& root) {
  std::vector<Ref<Node>> stack;
  stack.reserve(16);
  stack.push_back(root);
  while (!stack.empty()) {
    const Ref<Node> node = std::move(stack.back());
    stack.pop_back();
    if (is_reached(*node)) continue;
    slots_.emplace_back(node);
    mark(*node, slots_.size() - 1);
    for (const Edge& e : node->edges)
      if (e.to && !is_reached(*e.to)) stack.push_back(e.to);
  }
}

void BackwardPass::mark(Node& node, size_t slot) {
  uint64_t other = node.pass.load(std::memory_order_relaxed);
  // Only leaves are shared with graphs that other threads walk.
  if (other == 0 && !node.is_leaf()) node.pass.store(id_, std::memory_order_relaxed);
  if (other == 0 && node.is_leaf()) node.pass.compare_exchange_strong(other, id_, std::memory_order_acquire);
  if (other == 0)
    node.slot = slot;
  else
    marked_by_others_.emplace(&node, slot);
}

size_t BackwardPass::slot_beside(const Node& node) const { return marked_by_others_.at(&node); }

BackwardPass::Order BackwardPass::order_from(size_t first_slot) const {
  Order order;
  order.reserve(slots_.size() - first_slot);
  for (size_t i = first_slot; i < slots_.size(); ++i) order.push_back(i);
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return slots_[a].node->sequence > slots_[b].node->sequence; });
  return order;
}

void BackwardPass::mark_needed(const Order& order) {
  for (auto i = order.rbegin(); i != order.rend(); ++i) {
    Slot& s = slots_[*i];
    s.needed = s.wanted;
    for (const Edge& e : s.node->edges) s.needed = s.needed || (e.to && slot_of(*e.to).needed);
  }
}

void BackwardPass::forget_from(size_t first_slot) {
  const auto first = slots_.begin() + static_cast<std::ptrdiff_t>(first_slot);
  for (auto s = first; s != slots_.end(); ++s) {
    if (has_marked(*s->node))
      s->node->pass.store(0, std::memory_order_release);
    else
      marked_by_others_.erase(s->node.get());
  }
  slots_.erase(first, slots_.end());
}

void BackwardPass::walk(const Order& order) {
  const GradMode mode(create_graph_);
  const AnomalyMode quiet(false);  // rules may mask intermediate values later; only their results are checked
  for (const size_t i : order) {
    Slot& s = slots_[i];
    if (!s.needed) continue;
    if (s.node->kind == Node::Kind::multi_output) {
      visit_multi_output(*s.node);
      continue;
    }
    if (!s.grad.defined()) continue;
    if (s.node->hooks) [[unlikely]]
      s.grad = after_hooks(*s.node, s.grad);
    if (s.wanted) s.result = s.grad;
    if (s.node->is_leaf()) {
      if (accumulate_) add_to_leaf(*s.node, std::move(s.grad));
      s.grad = {};
      continue;
    }
    const Tensor gy = std::move(s.grad);
    s.grad = {};
    pull(*s.node, gy);
  }
}

void BackwardPass::pull(Node& node, const Tensor& gy) {
  if (node.kind == Node::Kind::result) {
    const Node* function = node.edges[0].to.get();
    std::vector<Tensor>& gys = waiting_[function];
    gys.resize(function->multi->results.size());
    Tensor& total = gys[node.result];  // a second derivative may come by two vertices of one result
    total = total.defined() ? sum(total, gy) : gy;
    return;
  }
  const ProfileSpan span(node.op, ProfileEvent::Phase::backward, &node.shape);
  running_op = node.op;
  refuse_if_released(node);
  bool any = false;
  const Needs needs = needs_of(node, any);
  if (!any) return;
  const Tensor y = output_of(node);
  std::vector<Tensor> joint;
  if (node.joint) {
    joint = node.joint(gy, y, needs);
    check_count(node, joint);
  }
  for (size_t i = 0; i < node.edges.size(); ++i) {
    Edge& e = node.edges[i];
    if (!e.to) continue;
    Slot& target = slot_of(*e.to);
    if (!target.needed) continue;
    if (e.add_to && !create_graph_) {
      const Tensor before = anomaly_ && target.grad.defined() ? raw::clone(target.grad) : Tensor();
      add_in_place(e, gy, target);
      if (anomaly_) [[unlikely]]
        check_for_anomaly(node, *e.to, target.grad, {gy, before});
      continue;
    }
    Tensor gx = node.joint ? std::move(joint[i]) : e.pull(gy, y);
    if (anomaly_) [[unlikely]]
      check_for_anomaly(node, *e.to, gx, {gy});
    add(target, *e.to, std::move(gx));
  }
  if (release_) node.release();
}

Tensor BackwardPass::after_hooks(const Node& node, const Tensor& g) const {
  Tensor replaced = node.hooks->run(g, [&] { return describe(node); });
  if (anomaly_) check_hooked(node, replaced, g);
  return replaced;
}

// The value, tied to its vertex again so that a second derivative flows through it.
Tensor BackwardPass::attach(const Tensor& value, Ref<Node> node) {
  Tensor attached = value.detach();
  attached.impl()->node = std::move(node);
  return attached;
}

Tensor BackwardPass::output_of(Node& node) const {
  const Tensor& y = *node.output;
  return !y.defined() || !create_graph_ ? y : attach(y, Ref<Node>(&node));
}

Needs BackwardPass::needs_of(const Node& node, bool& any) {
  Needs needs;
  for (size_t i = 0; i < node.edges.size(); ++i)
    if (is_needed(node.edges[i])) {
      needs.set(i);
      any = true;
    }
  return needs;
}

void BackwardPass::check_count(const Node& node, const std::vector<Tensor>& gxs) {
  if (gxs.size() != node.edges.size())
    fail("backward", "the rule of ", node.op, " must give one gradient for each of its ", node.edges.size(),
         " inputs, got ", gxs.size(), ".");
}

void BackwardPass::refuse_if_released(const Node& node) {
  if (node.released)
    fail("backward", "the graph was freed by an earlier backward, at ", node.op,
         ". Hint: pass retain_graph=true to the first call.");
}

// Recorded if the gradients are to be differentiated again.
Tensor BackwardPass::sum(const Tensor& a, const Tensor& b) const {
  return create_graph_ ? differentiable::add(a, b) : raw::add(a, b);
}

void BackwardPass::add(Slot& target, const Node& node, Tensor gx) {
  if (gx.defined()) gx = sum_to(gx, node.shape);
  if (!gx.defined() || gx.shape() != node.shape || gx.dtype() != node.dtype)
    fail("backward", "the rule of ", running_op, " must give ", name(node.dtype), " ", node.shape, ", got ",
         gx.defined() ? concat(name(gx.dtype()), " ", gx.shape()) : "nothing", ".");
  if (!target.grad.defined()) {
    target.owned = !create_graph_ && is_sole_owner(gx);
    target.grad = std::move(gx);
  } else if (create_graph_) {
    target.grad = differentiable::add(target.grad, gx);
  } else if (target.owned) {
    raw::add_into(target.grad, gx);
  } else {
    target.grad = raw::add(target.grad, gx);
    target.owned = true;
  }
}

void BackwardPass::add_in_place(Edge& e, const Tensor& gy, Slot& target) {
  if (target.grad.defined() && !target.owned) target.grad = raw::clone(target.grad);
  e.add_to(gy, target.grad);
  target.owned = true;
}

// A gradient that leaves the engine shares its values with nothing else.
Tensor BackwardPass::own(const Tensor& g) const {
  return !g.defined() || create_graph_ || is_sole_owner(g) ? g : raw::clone(g);
}

void BackwardPass::add_to_leaf(Node& leaf, Tensor g) const {
  if (!leaf.grad.defined()) {
    leaf.grad = create_graph_ || is_sole_owner(g) ? std::move(g) : raw::clone(g);
    return;
  }
  const ProfileSpan span("accumulate", ProfileEvent::Phase::backward, &leaf.shape);
  if (create_graph_ || leaf.grad.requires_grad())
    leaf.grad = differentiable::add(leaf.grad, g);
  else
    raw::add_into(leaf.grad, g);
}

void BackwardPass::check_for_anomaly(const Node& from, const Node& to, const Tensor& gx,
                                     const std::vector<Tensor>& gys) {
  if (!is_anomaly(gx, gys)) return;
  std::vector<const Node*> ops;  // as graph_text() of the outputs lists them
  const size_t end = recomputed_from_ == 0 ? slots_.size() : recomputed_from_;
  for (size_t i = 0; i < end; ++i)
    if (!slots_[i].node->is_leaf()) ops.push_back(slots_[i].node.get());
  std::sort(ops.begin(), ops.end(), [](const Node* a, const Node* b) { return a->sequence < b->sequence; });
  refuse_gradient(from, to, ops, gx, gys);
}

}  // namespace gradus::autograd
