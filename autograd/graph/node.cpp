#include "gradus/autograd/graph/node.hpp"

#include <atomic>

#include "gradus/autograd/graph/block.hpp"

namespace gradus::autograd {
namespace {

std::atomic<uint64_t> next_sequence{1};

}  // namespace

TensorImpl::TensorImpl() = default;
TensorImpl::~TensorImpl() = default;
void destroy(TensorImpl* impl) { delete impl; }

Node::Node(Kind kind_, std::string_view op_, const Shape& shape_, DType dtype_, uint64_t sequence_)
    : op(op_), kind(kind_), dtype(dtype_), sequence(sequence_), shape(shape_) {}
Node::~Node() = default;

uint64_t Node::take_sequence() { return next_sequence.fetch_add(1, std::memory_order_relaxed); }

Ref<Node> Node::make(Kind kind, std::string_view op, const Shape& shape, DType dtype) {
  return Ref<Node>(new Node(kind, op, shape, dtype, take_sequence()));
}

Ref<Node> Node::result_of(const Ref<Node>& block, size_t i) {
  const Block::Result& r = block->block->results[i];
  Ref<Node> node = make(Kind::result, block->op, r.shape, r.dtype);
  node->result = static_cast<uint32_t>(i);
  node->edges.emplace_back(Tensor());
  node->edges[0].to = block;
  return node;
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
  joint = {};
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

}  // namespace gradus::autograd
