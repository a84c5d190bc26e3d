#include "gradus/autograd/backward.hpp"

#include <algorithm>
#include <atomic>

#include "gradus/autograd/ops.hpp"
#include "gradus/autograd/raw.hpp"
#include "gradus/autograd/record.hpp"

namespace gradus {
namespace {

thread_local std::string_view running_op;
std::atomic<uint64_t> next_run{1};

// Nobody but this handle sees the values.
bool is_sole_owner(const Tensor& t) {
  return t.impl()->use_count() == 1 && t.impl()->storage->use_count() == 1 && t.is_contiguous();
}

// Undoes broadcasting: sums the dimensions in which `shape` is smaller. What did not come from `shape` by
// broadcasting stays as it is.
Tensor sum_to(const Tensor& g, const Shape& shape) {
  const int lead = g.dim() - shape.size();
  if (g.shape() == shape || lead < 0) return g;
  std::vector<int64_t> dims;
  for (int i = 0; i < g.dim(); ++i) {
    if (i >= lead && shape[i - lead] == g.shape()[i]) continue;
    if (i >= lead && shape[i - lead] != 1) return g;
    dims.push_back(i);
  }
  return sum(g, dims, /*keepdim=*/true).reshape(shape);
}

// One walk over the graph below some outputs.
class Run {
 public:
  Run(bool create_graph, bool retain_graph)
      : id_(next_run.fetch_add(1)),
        create_graph_(create_graph),
        retain_graph_(retain_graph || create_graph) {}
  ~Run() {
    for (const Slot& s : slots_) {
      s.node->run = s.outer_run;
      s.node->slot = s.outer_slot;
    }
    running_op = outer_op_;
  }

  void start(const std::vector<Tensor>& outputs, const std::vector<Tensor>& cotangents) {
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
    for (size_t i = 0; i < slots_.size(); ++i) order_.push_back(i);
    std::sort(order_.begin(), order_.end(),
              [&](size_t a, size_t b) { return slots_[a].node->sequence > slots_[b].node->sequence; });
  }

  // Every leaf's grad() grows.
  void accumulate_leaves() {
    for (Slot& s : slots_) s.needed = true;
    walk([](Slot&) {}, [&](Slot& s) { add_to_leaf(*s.node, std::move(s.grad)); });
  }

  // Only the paths to `inputs` are walked; their gradients are returned.
  std::vector<Tensor> collect(const std::vector<Tensor>& inputs) {
    for (const Tensor& x : inputs)
      if (is_reached(x)) slot_of(*x.impl()->node).wanted = true;
    for (auto i = order_.rbegin(); i != order_.rend(); ++i) {
      Slot& s = slots_[*i];
      s.needed = s.wanted;
      for (const Edge& e : s.node->edges) s.needed = s.needed || (e.to && slot_of(*e.to).needed);
    }
    walk(
        [](Slot& s) {
          if (s.wanted) s.result = s.grad;
        },
        [](Slot&) {});
    std::vector<Tensor> results;
    for (const Tensor& x : inputs)
      results.push_back(is_reached(x) ? own(slot_of(*x.impl()->node).result) : Tensor());
    return results;
  }

 private:
  struct Slot {
    Ref<Node> node;
    Tensor grad;         // what has arrived so far
    bool owned = false;  // grad is ours to add into
    bool needed = false;
    bool wanted = false;
    Tensor result;
    uint64_t outer_run;
    size_t outer_slot;
  };

  Slot& slot_of(Node& node) { return slots_[node.slot]; }
  bool is_reached(const Tensor& x) const { return x.impl()->node->run == id_; }

  static Tensor cotangent(const Tensor& y, const Tensor& given) {
    if (given.defined()) {
      if (given.shape() != y.shape() || given.dtype() != y.dtype())
        fail("backward", "the gradient must be ", name(y.dtype()), " ", y.shape(), " like the output, got ",
             name(given.dtype()), " ", given.shape(), ".");
      return given;
    }
    if (y.numel() != 1)
      fail("backward", "needs a scalar, got shape ", y.shape(), ". Hint: take mean() or pass a gradient.");
    return ones(y.shape(), y.dtype());
  }

  // Gives every node below `root` a slot.
  void visit(const Ref<Node>& root) {
    std::vector<Ref<Node>> stack{root};
    while (!stack.empty()) {
      const Ref<Node> node = std::move(stack.back());
      stack.pop_back();
      if (node->run == id_) continue;
      slots_.push_back({node, {}, false, false, false, {}, node->run, node->slot});
      node->run = id_;
      node->slot = slots_.size() - 1;
      for (const Edge& e : node->edges)
        if (e.to && e.to->run != id_) stack.push_back(e.to);
    }
  }

  template <class OnArrival, class OnLeaf>
  void walk(OnArrival on_arrival, OnLeaf on_leaf) {
    const GradMode mode(create_graph_);
    for (const size_t i : order_) {
      Slot& s = slots_[i];
      if (!s.needed || !s.grad.defined()) continue;
      on_arrival(s);
      if (s.node->is_leaf()) {
        on_leaf(s);
        continue;
      }
      const Tensor gy = std::move(s.grad);
      s.grad = {};
      pull(*s.node, gy);
    }
  }

  void pull(Node& node, const Tensor& gy) {
    running_op = node.op;
    if (node.released)
      fail("backward", "the graph was freed by an earlier backward, at ", node.op,
           ". Hint: pass retain_graph=true to the first call.");
    Needs needs;
    bool any = false;
    for (size_t i = 0; i < node.edges.size(); ++i)
      if (node.edges[i].to && slot_of(*node.edges[i].to).needed) {
        needs.set(i);
        any = true;
      }
    if (!any) return;
    const Tensor y = output_of(node);
    std::vector<Tensor> joint;
    if (node.joint) joint = node.joint(gy, y, needs);
    for (size_t i = 0; i < node.edges.size(); ++i) {
      if (!needs[i]) continue;
      Edge& e = node.edges[i];
      Slot& target = slot_of(*e.to);
      if (e.add_to && !create_graph_)
        add_in_place(e, gy, target);
      else
        add(target, *e.to, node.joint ? std::move(joint[i]) : e.pull(gy, y));
    }
    if (!retain_graph_) node.release();
  }

  // The result, tied to its node again so that a second derivative flows through it.
  Tensor output_of(Node& node) const {
    const Tensor& y = *node.output;
    if (!y.defined() || !create_graph_) return y;
    Tensor attached = y.detach();
    attached.impl()->node = Ref<Node>(&node);
    return attached;
  }

  void add(Slot& target, const Node& node, Tensor gx) {
    if (gx.defined()) gx = sum_to(gx, node.shape);
    if (!gx.defined() || gx.shape() != node.shape || gx.dtype() != node.dtype)
      fail("backward", "the rule of ", running_op, " must give ", name(node.dtype), " ", node.shape, ", got ",
           gx.defined() ? concat(name(gx.dtype()), " ", gx.shape()) : "nothing", ".");
    if (!target.grad.defined()) {
      target.owned = !create_graph_ && is_sole_owner(gx);
      target.grad = std::move(gx);
    } else if (create_graph_) {
      target.grad = target.grad + gx;
    } else if (target.owned) {
      raw::add_into(target.grad, gx);
    } else {
      target.grad = raw::add(target.grad, gx);
      target.owned = true;
    }
  }

  void add_in_place(Edge& e, const Tensor& gy, Slot& target) {
    if (target.grad.defined() && !target.owned) target.grad = raw::clone(target.grad);
    e.add_to(gy, target.grad);
    target.owned = true;
  }

  // A gradient that leaves the engine shares its values with nothing else.
  Tensor own(Tensor g) const { return !g.defined() || create_graph_ || is_sole_owner(g) ? g : raw::clone(g); }

  void add_to_leaf(Node& leaf, Tensor g) const {
    if (!leaf.grad.defined())
      leaf.grad = create_graph_ || is_sole_owner(g) ? std::move(g) : raw::clone(g);
    else if (create_graph_ || leaf.grad.requires_grad())
      leaf.grad = leaf.grad + g;
    else
      raw::add_into(leaf.grad, g);
  }

  uint64_t id_;
  std::string_view outer_op_ = running_op;  // of the run whose rule started this one
  bool create_graph_;
  bool retain_graph_;
  std::vector<Slot> slots_;
  std::vector<size_t> order_;
};

}  // namespace

std::string_view op_in_backward() { return running_op.empty() ? "the caller" : running_op; }

std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         const GradOptions& options) {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].defined() || !inputs[i].requires_grad())
      fail("grad", "input ", i,
           " requires no gradient. Hint: call requires_grad_() before computing the outputs.");
  Run run(options.create_graph, options.retain_graph);
  run.start(outputs, options.grad_outputs);
  std::vector<Tensor> results = run.collect(inputs);
  for (size_t i = 0; i < results.size(); ++i)
    if (!results[i].defined() && !options.allow_unused)
      fail("grad", "no output depends on input ", i,
           ". Hint: pass allow_unused to get an undefined gradient.");
  return results;
}

void backward(const std::vector<Tensor>& outputs, const std::vector<Tensor>& grad_outputs, bool retain_graph,
              bool create_graph) {
  Run run(create_graph, retain_graph);
  run.start(outputs, grad_outputs);
  run.accumulate_leaves();
}

}  // namespace gradus
