// BackwardPass: one walk over the graph below some outputs, from newest to oldest.
//
// Each vertex has a slot in which its gradient is summed; it is visited after all vertices that depend on it.
// It recurses only for nested checkpoints, once for each level.
#pragma once

#include <span>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "gradus/autograd/graph/node.hpp"

// Two operations that the engine records when gradients are differentiated; ops/arguments.cpp defines them.
namespace gradus::differentiable {

/// a + b, recorded.
Tensor add(const Tensor& a, const Tensor& b);
/// The sum over dims, which keep size 1.
Tensor sum(const Tensor& x, const std::vector<int64_t>& dims);

}  // namespace gradus::differentiable

namespace gradus::autograd {

/// Called before the rule of each operation in the backward passes of this thread, unless null; what it
/// throws ends the pass.
inline constinit thread_local std::add_pointer_t<void()> before_each_rule = nullptr;

class BackwardPass {
 public:
  BackwardPass(bool create_graph, bool retain_graph);
  ~BackwardPass();

  void start(const std::vector<Tensor>& outputs, const std::vector<Tensor>& cotangents);
  /// Adds to the grad() of every leaf.
  void accumulate_leaves();
  /// Only the paths to `inputs` are walked; their gradients are returned.
  std::vector<Tensor> collect(const std::vector<Tensor>& inputs);

 private:
  struct Slot {
    explicit Slot(const Ref<Node>& vertex) : node(vertex) {}
    Ref<Node> node;
    Tensor grad;         // the sum so far
    bool owned = false;  // grad may be added to in place
    bool needed = false;
    bool wanted = false;
    uint64_t turn = 0;  // the sequence of the vertex; of a leaf, that of the oldest one that adds to it
    Tensor result;
  };
  using Order = std::vector<size_t>;  // of slots, newest vertex first; a leaf when its gradient is complete

  bool has_marked(const Node& node) const { return node.pass.load(std::memory_order_relaxed) == id_; }
  bool is_reached(const Node& node) const {
    return has_marked(node) || (!marked_by_others_.empty() && marked_by_others_.contains(&node));
  }
  [[gnu::cold]] size_t slot_in_map(const Node& node) const;
  Slot& slot_of(const Node& node) { return slots_[has_marked(node) ? node.slot : slot_in_map(node)]; }
  bool is_needed(const Edge& e) { return e.to && slot_of(*e.to).needed; }

  void visit(const Ref<Node>& root);
  void mark(Node& node, size_t slot);
  Order order_from(size_t first_slot);
  void mark_needed(const Order& order);
  void forget_from(size_t first_slot);

  void walk(const Order& order);
  void pull(Node& node, const Tensor& gy);
  void visit_multi_output(Node& node);
  void expand_checkpoint(Node& node, std::vector<Tensor> gys);

  Needs needs_of(const Node& node);
  Tensor take_sum(const Node& node, size_t input);
  void add_all(const Node& node, std::vector<Tensor> gxs, std::span<const Tensor> gys);
  Tensor sum(const Tensor& a, const Tensor& b) const;
  void add(Slot& target, Tensor gx);
  Tensor own(const Tensor& g) const;
  void add_to_leaf(Node& leaf, const Tensor& g) const;
  void check_for_anomaly(const Node& from, const Node& to, const Tensor& gx, std::span<const Tensor> gys);

  uint64_t id_;
  Scoped<std::string_view> op_;  // restores running_op for the pass whose rule started this one
  bool create_graph_;
  bool composed_;  // gradients are made of recorded operations only
  bool release_;   // each vertex once it has been used
  bool accumulate_ = false;
  bool anomaly_;
  std::vector<Slot> slots_;
  std::unordered_map<const Node*, size_t>
      marked_by_others_;        // slots of vertices that another pass has marked
  size_t recomputed_from_ = 0;  // the first slot of vertices that replace a checkpoint; 0 if there are none
  std::unordered_map<const Node*, std::vector<Tensor>> waiting_;  // result gradients of multi_outputs
};

}  // namespace gradus::autograd
