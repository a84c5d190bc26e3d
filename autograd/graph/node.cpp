#include "gradus/autograd/graph/node.hpp"

#include <algorithm>
#include <atomic>
#include <unordered_set>

namespace gradus::autograd {
namespace {

std::atomic<uint64_t> next_sequence{1};

}  // namespace

TensorImpl::TensorImpl() = default;
// A gradient with a graph, which reaches this leaf, would keep itself: nobody can read it any more.
TensorImpl::~TensorImpl() {
  if (node && node->owner == this && node->grad.defined() && node->grad.requires_grad()) node->grad = {};
}
void destroy(TensorImpl* impl) { delete impl; }

Node::Node(Kind kind_, std::string_view op_, const Shape& shape_, DType dtype_, uint64_t sequence_)
    : op(op_), kind(kind_), dtype(dtype_), sequence(sequence_), shape(shape_) {}
Node::~Node() = default;

uint64_t Node::take_sequence() { return next_sequence.fetch_add(1, std::memory_order_relaxed); }

Ref<Node> Node::make(Kind kind, std::string_view op, const Shape& shape, DType dtype) {
  return Ref<Node>(new Node(kind, op, shape, dtype, take_sequence()));
}

Ref<Node> Node::result_of(const Ref<Node>& function, size_t i) {
  const MultiOutput::Result& r = function->multi->results[i];
  Ref<Node> node = make(Kind::result, function->op, r.shape, r.dtype);
  node->result = static_cast<uint32_t>(i);
  node->edges.emplace_back(Tensor());
  node->edges[0].to = function;
  return node;
}

Ref<Node> Node::leaf(const Shape& shape, DType dtype) {
  return Ref<Node>(new Node(Kind::leaf, "leaf", shape, dtype, 0));
}

// Frees the data of the rules. The edges stay, so that a later pass finds this vertex and throws.
void Node::release() {
  for (Edge& e : edges) {
    e.pull = nullptr;
    e.add_to = nullptr;
  }
  joint = {};
  if (multi) {
    multi->rule = nullptr;
    multi->outputs.clear();
    multi->recompute = nullptr;
  }
  output = Saved(Tensor());
  released = true;
}

std::vector<const Node*> ops_below(const std::vector<const Node*>& roots) {
  std::vector<const Node*> found, stack(roots);
  std::unordered_set<const Node*> seen;
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    if (node->is_leaf() || !seen.insert(node).second) continue;
    found.push_back(node);
    for (const Edge& e : node->edges)
      if (e.to) stack.push_back(e.to.get());
  }
  std::ranges::sort(found, {}, &Node::sequence);
  return found;
}

Tensor value_of(const Node& node) {
  const bool of_many = node.kind == Node::Kind::result && !node.edges[0].to->multi->outputs.empty();
  const Saved& kept = of_many ? node.edges[0].to->multi->outputs[node.result] : node.output;
  return kept.is_overwritten() ? Tensor() : *kept;
}

std::string describe(const Node& node) {
  if (node.kind == Node::Kind::multi_output)
    return concat(node.op, ", results: ", node.multi->results.size());
  const std::string result = node.kind == Node::Kind::result ? concat("[", node.result, "]") : "";
  return concat(node.op, result, node.rounded ? " of bfloat16, " : " ", name(node.dtype), " ", node.shape);
}

std::string describe(const Node& node, const std::vector<const Node*>& ops) {
  const auto at = std::find(ops.begin(), ops.end(), &node);
  return at == ops.end() ? describe(node) : concat("%", at - ops.begin() + 1, " = ", describe(node));
}

constinit thread_local std::string_view running_op;

// A node holds its inputs' nodes, in edges and through captured tensors, so deleting one may delete the next.
// Chains of a million ops must not recurse: nodes that are released during a deletion wait in a list.
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

}  // namespace gradus::autograd

namespace gradus {

// A leaf is saved as its alias. Otherwise a gradient with a graph would hold its own leaf: a reference cycle.
Saved::Saved(const Tensor& tensor) {
  if (!tensor.defined()) return;
  autograd::TensorImpl* const impl = tensor.impl();
  tensor_ = impl->alias && !impl->frozen ? Tensor(impl->alias) : tensor;
  version_ = impl->storage->version();
}

void Saved::refuse() const {
  fail("backward", "a tensor of shape ", tensor_.shape(), " that ",
       autograd::running_op.empty() ? "the caller" : autograd::running_op,
       " needs has been overwritten since it was used. Hint: call backward() before changing values in "
       "place.");
}

}  // namespace gradus
