#include "gradus/autograd/engine/backward_pass.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>
#include <utility>

#include "gradus/autograd/graph/anomaly_check.hpp"
#include "gradus/autograd/graph/hooks.hpp"
#include "gradus/autograd/graph/profile.hpp"
#include "gradus/autograd/graph/trace.hpp"
#include "gradus/autograd/tensor/raw.hpp"

namespace gradus::autograd {
namespace {

std::atomic<uint64_t> next_pass{1};

// Undoes broadcasting: sums the dimensions in which `shape` is smaller. Any other g is returned unchanged.
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

// The value, tied to its vertex again so that a second derivative flows through it.
Tensor attached(const Tensor& value, Ref<Node> node) {
  Tensor y = value.detach();
  y.impl()->node = std::move(node);
  return y;
}

void refuse_if_released(const Node& node) {
  if (node.released)
    fail("backward", "the graph was freed by an earlier backward, at ", node.op,
         ". Hint: pass retain_graph=true to the first call.");
}

uint64_t version(const Tensor& x) { return x.defined() ? x.impl()->storage->version() : 0; }

// Other rules, and the caller, may hold the gradient that a rule is given.
void refuse_if_written(const Node& node, const Tensor& gy, uint64_t before) {
  if (version(gy) != before)
    fail(node.op,
         "its rule must not write into the gradient that it is given, got one that did. Hint: write "
         "into a copy, gy * 1.0.");
}

}  // namespace

BackwardPass::BackwardPass(bool create_graph, bool retain_graph)
    : id_(next_pass.fetch_add(1)),
      op_(running_op, running_op),
      create_graph_(create_graph),
      composed_(create_graph || is_by_definition()),
      release_(!retain_graph && !create_graph),
      anomaly_(anomaly_mode) {
  slots_.reserve(32);  // so that a small graph costs one allocation
}

BackwardPass::~BackwardPass() { forget_from(0); }

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
    add(slot_of(*y.impl()->node), cotangent(y, i < cotangents.size() ? cotangents[i] : Tensor()));
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

size_t BackwardPass::slot_in_map(const Node& node) const { return marked_by_others_.at(&node); }

BackwardPass::Order BackwardPass::order_from(size_t first_slot) {
  Order order(slots_.size() - first_slot);
  std::iota(order.begin(), order.end(), first_slot);
  for (const size_t i : order) slots_[i].turn = slots_[i].node->sequence;
  // A checkpoint adds vertices later, when it is computed again. With one, all leaves come last.
  const bool is_known = std::none_of(order.begin(), order.end(), [&](size_t i) {
    return slots_[i].node->multi && slots_[i].node->multi->recompute;
  });
  if (is_known)
    for (const size_t i : order)
      for (const Edge& e : slots_[i].node->edges)
        if (e.to && e.to->is_leaf())
          if (Slot& leaf = slot_of(*e.to); leaf.turn == 0 || leaf.turn > slots_[i].node->sequence)
            leaf.turn = slots_[i].node->sequence;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return slots_[a].turn != slots_[b].turn ? slots_[a].turn > slots_[b].turn
                                            : slots_[b].node->is_leaf() && !slots_[a].node->is_leaf();
  });
  return order;
}

void BackwardPass::mark_needed(const Order& order) {
  for (auto i = order.rbegin(); i != order.rend(); ++i) {
    Slot& s = slots_[*i];
    s.needed = s.wanted;
    for (const Edge& e : s.node->edges) s.needed = s.needed || is_needed(e);
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
  const GradMode mode(composed_);
  const AnomalyMode quiet(false);  // rules may mask intermediate values later; only their results are checked
  for (const size_t i : order) {
    Slot& s = slots_[i];
    if (!s.needed) continue;
    Node& node = *s.node;
    if (node.kind == Node::Kind::multi_output) {
      visit_multi_output(node);
      continue;
    }
    if (!s.grad.defined()) continue;
    Tensor g = std::exchange(s.grad, {});
    if (node.hooks) [[unlikely]] {
      const GradMode of_hooks(create_graph_);
      const Tensor before = g;
      g = node.hooks->run(before, [&] { return describe(node); });
      if (anomaly_) check_hooked(node, g, before);
    }
    if (s.wanted) s.result = g;
    if (!node.is_leaf())
      pull(node, g);
    else if (accumulate_)
      add_to_leaf(node, std::move(g));
  }
}

void BackwardPass::pull(Node& node, const Tensor& gy) {
  if (node.kind == Node::Kind::result) {
    const Node* function = node.edges[0].to.get();
    std::vector<Tensor>& gys = waiting_[function];
    gys.resize(function->multi->results.size());
    Tensor& total = gys[node.result];  // a second derivative may arrive through two vertices of one result
    total = total.defined() ? sum(total, gy) : gy;
    return;
  }
  if (before_each_rule) before_each_rule();
  const ProfileSpan span(node.op, ProfileEvent::Phase::backward, &node.shape);
  running_op = node.op;
  refuse_if_released(node);
  const Needs needs = needs_of(node);
  if (!needs.any()) return;
  const uint64_t before = version(gy);
  Tensor y = *node.output;
  if (y.defined() && create_graph_) y = attached(y, Ref<Node>(&node));
  if (node.joint) {
    const Sums sums = composed_ || anomaly_ ? Sums() : Sums([&](size_t i) { return take_sum(node, i); });
    add_all(node, node.joint(gy, y, needs, sums), {&gy, 1});
  } else {
    for (Edge& e : node.edges) {
      if (!is_needed(e)) continue;
      Slot& target = slot_of(*e.to);
      if (e.add_to && !composed_) {
        const Tensor sum = anomaly_ && target.grad.defined() ? raw::clone(target.grad) : Tensor();
        if (target.grad.defined() && !target.owned) target.grad = raw::clone(target.grad);
        e.add_to(gy, target.grad);
        target.owned = true;
        if (anomaly_) check_for_anomaly(node, *e.to, target.grad, std::array{gy, sum});
      } else {
        Tensor gx = e.pull(gy, y);
        check_for_anomaly(node, *e.to, gx, {&gy, 1});
        add(target, std::move(gx));
      }
    }
  }
  refuse_if_written(node, gy, before);
  if (release_) node.release();
}

void BackwardPass::visit_multi_output(Node& node) {
  const auto found = waiting_.find(&node);
  if (found == waiting_.end()) return;
  std::vector<Tensor> gys = std::move(found->second);
  waiting_.erase(found);
  running_op = node.op;
  refuse_if_released(node);
  const std::vector<MultiOutput::Result>& results = node.multi->results;
  if (node.multi->recompute) return expand_checkpoint(node, std::move(gys));
  const Needs needs = needs_of(node);
  if (!needs.any()) return;
  const ProfileSpan span(node.op, ProfileEvent::Phase::backward, &results[0].shape);
  std::vector<Tensor> all = gys, ys;
  for (size_t i = 0; i < results.size(); ++i) {
    const auto& [shape, dtype, differentiable] = results[i];
    if (!all[i].defined() && differentiable) all[i] = raw::full(shape, 0.0, dtype);
    // The vertices of the results may be deleted, so new ones replace them.
    const Tensor& y = *node.multi->outputs[i];
    ys.push_back(create_graph_ && differentiable ? attached(y, Node::result_of(Ref<Node>(&node), i)) : y);
  }
  std::vector<uint64_t> before;
  for (const Tensor& gy : all) before.push_back(version(gy));
  add_all(node, node.multi->rule(all, ys, needs), gys);
  for (size_t i = 0; i < all.size(); ++i) refuse_if_written(node, all[i], before[i]);
  if (release_) node.release();
}

// The recomputed ops replace the checkpoint: they are walked now, in their order, and add to the slots of
// their inputs, one contribution after the other, as if they had been in the graph from the start.
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
      if (gys[i].defined()) add(slot_of(*ys[i].impl()->node), std::move(gys[i]));
  }
  const Order order = order_from(first);
  if (accumulate_)
    for (const size_t i : order) slots_[i].needed = true;
  else
    mark_needed(order);

  if (release_) node.release();
  const Scoped release(release_, !create_graph_);  // the next call makes new ones
  const Scoped from(recomputed_from_, recomputed_from_ == 0 ? first : recomputed_from_);
  walk(order);
  forget_from(first);
}

Needs BackwardPass::needs_of(const Node& node) {
  Needs needs;
  for (size_t i = 0; i < node.edges.size(); ++i)
    if (is_needed(node.edges[i])) needs.set(i);
  return needs;
}

Tensor BackwardPass::take_sum(const Node& node, size_t input) {
  if (!is_needed(node.edges[input])) return {};
  return raw::contiguous(std::exchange(slot_of(*node.edges[input].to).grad, {}));
}

// Adds the gradients that a joint rule returned.
void BackwardPass::add_all(const Node& node, std::vector<Tensor> gxs, std::span<const Tensor> gys) {
  if (gxs.size() != node.edges.size())
    fail("backward", "the rule of ", node.op, " must give one gradient for each of its ", node.edges.size(),
         " inputs, got ", gxs.size(), ".");
  for (size_t i = 0; i < gxs.size(); ++i) {
    if (!is_needed(node.edges[i])) continue;
    const Node& to = *node.edges[i].to;
    check_for_anomaly(node, to, gxs[i], gys);
    add(slot_of(to), std::move(gxs[i]));
  }
}

// Recorded if the gradients are to be differentiated again.
Tensor BackwardPass::sum(const Tensor& a, const Tensor& b) const {
  return composed_ ? differentiable::add(a, b) : raw::add(a, b);
}

void BackwardPass::add(Slot& target, Tensor gx) {
  const Node& node = *target.node;
  if (composed_ && !create_graph_ && gx.defined()) gx = gx.detach();
  if (gx.defined()) gx = sum_to(gx, node.shape);
  if (!gx.defined() || gx.shape() != node.shape || gx.dtype() != node.dtype)
    fail("backward", "the rule of ", running_op, " must give ", name(node.dtype), " ", node.shape, ", got ",
         gx.defined() ? concat(name(gx.dtype()), " ", gx.shape()) : "nothing", ".");
  if (!target.grad.defined()) {
    target.owned = !composed_ && raw::is_sole_owner(gx);
    target.grad = std::move(gx);
  } else if (target.owned) {
    raw::add_into(target.grad, gx);
  } else {
    target.grad = sum(target.grad, gx);
    target.owned = !composed_;
  }
}

// A gradient that leaves the engine shares its values with nothing else.
Tensor BackwardPass::own(const Tensor& g) const {
  return !g.defined() || create_graph_ || raw::is_sole_owner(g) ? g : raw::clone(g);
}

void BackwardPass::add_to_leaf(Node& leaf, const Tensor& g) const {
  if (!leaf.grad.defined()) {
    leaf.grad = own(g);
    return;
  }
  const ProfileSpan span("accumulate", ProfileEvent::Phase::backward, &leaf.shape);
  if (composed_ || leaf.grad.requires_grad())
    leaf.grad = differentiable::add(leaf.grad, g);
  else
    raw::add_into(leaf.grad, g);
}

void BackwardPass::check_for_anomaly(const Node& from, const Node& to, const Tensor& gx,
                                     std::span<const Tensor> gys) {
  if (!anomaly_ || !is_anomaly(gx, gys)) [[likely]]
    return;
  std::vector<const Node*> ops;  // as graph_text() of the outputs lists them
  const size_t end = recomputed_from_ == 0 ? slots_.size() : recomputed_from_;
  for (size_t i = 0; i < end; ++i)
    if (!slots_[i].node->is_leaf()) ops.push_back(slots_[i].node.get());
  std::ranges::sort(ops, {}, &Node::sequence);
  refuse_gradient(from, to, ops, gx, gys);
}

}  // namespace gradus::autograd
