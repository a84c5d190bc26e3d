#include "gradus/autograd/graph/record.hpp"

#include <atomic>
#include <memory>

#include "gradus/autograd/engine/backward.hpp"
#include "gradus/autograd/graph/anomaly_check.hpp"
#include "gradus/autograd/graph/block.hpp"
#include "gradus/autograd/graph/profile.hpp"

namespace gradus {
namespace {

thread_local bool grad_mode = true;
std::atomic<uint64_t> next_sequence{1};

Tensor record_joint(OpName op, Tensor out, const Tensor* first, const Tensor* last, JointRule rule) {
  if (active_profile) [[unlikely]]
    profile_op(op.name, out.shape());
  if (anomaly_mode) [[unlikely]]
    check_value(op.name, out, {first, last});
  if (!grad_enabled()) return out;
  bool any = false;
  for (const Tensor* x = first; x != last; ++x) any = any || (x->defined() && x->requires_grad());
  if (!any) return out;
  Ref<Node> node = Node::make(Node::Kind::op, op.name, out.shape(), out.dtype());
  for (const Tensor* x = first; x != last; ++x) node->edges.emplace_back(*x);
  node->joint = std::move(rule);
  node->output = Saved(out.detach());
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

bool grad_enabled() { return grad_mode; }
GradMode::GradMode(bool enabled) : before_(grad_mode) { grad_mode = enabled; }
GradMode::~GradMode() { grad_mode = before_; }

void Saved::refuse() const {
  fail("backward", "a tensor of shape ", tensor_.shape(), " that ", op_in_backward(),
       " needs has been overwritten since it was used. Hint: call backward() before changing values in "
       "place.");
}

Tensor record(OpName op, Tensor out, std::initializer_list<Edge> edges) {
  if (active_profile) [[unlikely]]
    profile_op(op.name, out.shape());
  if (anomaly_mode) [[unlikely]]
    check_value(op.name, out, sources(edges));
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
  return record_joint(op, std::move(out), inputs.begin(), inputs.end(), std::move(rule));
}

Tensor record(OpName op, Tensor out, const std::vector<Tensor>& inputs, JointRule rule) {
  return record_joint(op, std::move(out), inputs.data(), inputs.data() + inputs.size(), std::move(rule));
}

Node::Node(Kind kind_, std::string_view op_, const Shape& shape_, DType dtype_, uint64_t sequence_)
    : op(op_), kind(kind_), dtype(dtype_), sequence(sequence_), shape(shape_) {}
Node::~Node() = default;

uint64_t Node::take_sequence() { return next_sequence.fetch_add(1, std::memory_order_relaxed); }

Ref<Node> Node::make(Kind kind, std::string_view op, const Shape& shape, DType dtype) {
  return Ref<Node>(new Node(kind, op, shape, dtype, take_sequence()));
}

Ref<Node> Node::leaf(const Shape& shape, DType dtype) {
  return Ref<Node>(new Node(Kind::leaf, "leaf", shape, dtype, 0));
}

// What the rules kept goes; the edges stay, so that a later walk still finds its way here and is refused.
void Node::release() {
  for (Edge& e : edges) {
    e.pull.reset();
    e.add_to.reset();
  }
  joint = nullptr;
  if (block) {
    block->rule = nullptr;
    block->outputs.clear();
    block->recompute = nullptr;
  }
  output = Saved(Tensor());
  released = true;
}

// A node holds its inputs' nodes, in edges and through captured tensors, so deleting one may end the next.
// Chains of a million ops must not recurse: nodes that die while another is being deleted wait in a list.
void destroy(Node* node) {
  constinit static thread_local Node* waiting = nullptr;
  constinit static thread_local bool deleting = false;
  node->next_to_delete = waiting;
  waiting = node;
  if (deleting) return;
  deleting = true;
  while (waiting) {
    Node* const next = waiting;
    waiting = next->next_to_delete;
    delete next;
  }
  deleting = false;
}

}  // namespace gradus
