#include "gradus/autograd/record.hpp"

#include <atomic>
#include <memory>

#include "gradus/autograd/backward.hpp"

namespace gradus {
namespace {

thread_local bool grad_mode = true;
std::atomic<uint64_t> next_sequence{1};

Ref<Node> make_node(std::string_view op, const Tensor& out) {
  Ref<Node> node(new Node);
  node->op = op;
  node->sequence = next_sequence.fetch_add(1, std::memory_order_relaxed);
  node->shape = out.shape();
  node->dtype = out.dtype();
  return node;
}

Tensor record_joint(OpName op, Tensor out, const Tensor* first, const Tensor* last, JointRule rule) {
  if (!grad_enabled()) return out;
  bool any = false;
  for (const Tensor* x = first; x != last; ++x) any = any || (x->defined() && x->requires_grad());
  if (!any) return out;
  Ref<Node> node = make_node(op.name, out);
  for (const Tensor* x = first; x != last; ++x) node->edges.emplace_back(*x);
  node->joint = std::move(rule);
  node->output = Saved(out.detach());
  out.impl()->node = std::move(node);
  return out;
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
  bool any = false;
  bool wants_output = false;
  for (const Edge& e : edges) {
    any = any || e.to;
    wants_output = wants_output || e.wants_output;
  }
  if (!any) return out;
  Ref<Node> node = make_node(op.name, out);
  node->edges.reserve(edges.size());
  for (const Edge& e : edges)
    if (e.to) node->edges.push_back(e.take());
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

Ref<Node> Node::leaf(const Shape& shape, DType dtype) {
  Ref<Node> node(new Node);
  node->shape = shape;
  node->dtype = dtype;
  return node;
}

// What the rules kept goes; the edges stay, so that a later walk still finds its way here and is refused.
void Node::release() {
  for (Edge& e : edges) {
    e.pull.reset();
    e.add_to.reset();
  }
  joint = nullptr;
  output = Saved(Tensor());
  released = true;
}

// A node holds its inputs' nodes, in edges and through captured tensors, so deleting one may end the next.
// Chains of a hundred thousand ops must not recurse: nodes that die while another is being deleted wait in a
// list.
void destroy(Node* node) {
  thread_local std::vector<Node*>* waiting = nullptr;
  if (waiting) {
    waiting->push_back(node);
    return;
  }
  std::vector<Node*> list{node};
  waiting = &list;
  while (!list.empty()) {
    Node* next = list.back();
    list.pop_back();
    delete next;
  }
  waiting = nullptr;
}

}  // namespace gradus
