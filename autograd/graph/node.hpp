// Node: a vertex of the graph of gradients, the edges to its inputs, and their rules; the graph as text.
//
// Used by record(), the engine and programs that read graphs. Thread-safety: see tensor/tensor.hpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus {

/// A tensor kept for backward. Using it throws Error if its values were overwritten since.
class Saved {
 public:
  /// Remembers the version of the tensor's values.
  explicit Saved(const Tensor& tensor);
  /// The tensor. Throws Error if it was overwritten.
  const Tensor& operator*() const {
    if (is_overwritten()) refuse();
    return tensor_;
  }
  /// Whether its values have changed since.
  bool is_overwritten() const { return tensor_.defined() && tensor_.impl()->storage->version() != version_; }
  const Tensor* operator->() const { return &**this; }  ///< throws as above
  /// Throws as above.
  operator const Tensor&() const { return **this; }  // NOLINT: rules read best without a cast

 private:
  [[noreturn]] void refuse() const;
  Tensor tensor_;
  uint64_t version_ = 0;
};

/// Which inputs of a joint rule need their gradient; the others may be left undefined. From the 64th on, all
/// inputs share one bit.
class Needs {
 public:
  void set(size_t i) { bits_ |= bit(i); }  ///< input i needs it
  /// Whether input i needs it.
  bool operator[](size_t i) const { return (bits_ & bit(i)) != 0; }
  bool any() const { return bits_ != 0; }  ///< whether at least one input needs it

 private:
  static uint64_t bit(size_t i) { return uint64_t{1} << (i < 63 ? i : 63); }
  uint64_t bits_ = 0;
};

/// The gradients of a joint rule's inputs that others have summed so far.
class Sums {
 public:
  Sums() = default;                                                              ///< none
  explicit Sums(std::function<Tensor(size_t)> take) : take_(std::move(take)) {}  ///< that of each input
  /// The sum of input i, to which the rule adds its own gradient: a rule that takes a defined one returns the
  /// total. Undefined if there is none, or if gradients are to be differentiated.
  Tensor take(size_t i) const { return take_ ? take_(i) : Tensor(); }

 private:
  std::function<Tensor(size_t)> take_;
};

/// All input gradients at once, for fused backward kernels: one tensor for each input.
class JointRule {
 public:
  JointRule() = default;
  /// `rule(gy, needs)`; `rule(gy, y, needs)`, which keeps the op's output y until backward; or
  /// `rule(gy, needs, sums)`, which may add to the gradients of others.
  template <class F, class = std::enable_if_t<!std::is_same_v<F, JointRule>>>
  JointRule(F rule) {  // NOLINT: record() takes rules as they are written
    wants_output_ = std::is_invocable_v<F&, const Tensor&, const Tensor&, Needs>;
    rule_ = [rule = std::move(rule)](const Tensor& gy, const Tensor& y, Needs needs,
                                     const Sums& sums) mutable -> std::vector<Tensor> {
      if constexpr (std::is_invocable_v<F&, const Tensor&, const Tensor&, Needs>)
        return rule(gy, y, needs);
      else if constexpr (std::is_invocable_v<F&, const Tensor&, Needs, const Sums&>)
        return rule(gy, needs, sums);
      else
        return rule(gy, needs);
    };
  }

  explicit operator bool() const { return rule_ != nullptr; }  ///< whether there is one
  bool wants_output() const { return wants_output_; }          ///< whether it was given y
  /// One tensor for each input; undefined where `needs` does not ask for it.
  std::vector<Tensor> operator()(const Tensor& gy, const Tensor& y, Needs needs, const Sums& sums) const {
    return rule_(gy, y, needs, sums);
  }

 private:
  std::function<std::vector<Tensor>(const Tensor&, const Tensor&, Needs, const Sums&)> rule_;
  bool wants_output_ = false;
};

/// All input gradients from all result gradients: (gys, ys, needs) -> one tensor for each input, undefined if
/// not needed. The gradient of an unused result is zeros; that of an integer result is undefined.
using ManyRule = std::function<std::vector<Tensor>(const std::vector<Tensor>& gys,
                                                   const std::vector<Tensor>& ys, Needs needs)>;

namespace autograd {

/// The op whose rule the engine of this thread runs; empty if none. Set by the engine.
extern constinit thread_local std::string_view running_op;

/// How the gradient reaches one input.
class Edge {
 public:
  using Pull = std::function<Tensor(const Tensor& gy, const Tensor& y)>;  ///< the stored form of a rule
  using AddTo = std::function<void(const Tensor& gy, Tensor& sum)>;       ///< adds the gradient to a sum

  /// `rule(gy)` or `rule(gy, y)` returns gx; y is the op's output, which a rule must not capture: that would
  /// be a cycle. gx may have the broadcast shape: the engine sums it to the input's.
  template <class F>
  Edge(const Tensor& input, F rule) : Edge(input) {
    source = &input;
    if (!to) return;
    if constexpr (std::is_invocable_v<F&, const Tensor&, const Tensor&>) {
      wants_output = true;
      pull = std::move(rule);
    } else {
      pull = [rule = std::move(rule)](const Tensor& gy, const Tensor&) mutable { return rule(gy); };
    }
  }
  /// accumulate(gy, sum) is a cheaper second rule for gradients that are not differentiated again: it adds gx
  /// to `sum`, which is packed and of the input's shape, or undefined before the first contribution.
  template <class F, class G>
  Edge(const Tensor& input, F rule, G accumulate) : Edge(input, std::move(rule)) {
    if (to) add_to = std::move(accumulate);
  }

  /// An edge without a pull, for joint rules.
  explicit Edge(const Tensor& input) {
    if (grad_enabled() && input.defined() && input.requires_grad()) to = input.impl()->node;
  }
  /// Tag: moves the contents out of an edge in a braced list, whose elements are const.
  static constexpr struct FromList {
  } kFromList{};  ///< the value of the tag
  /// Takes over an edge of a list that record() owns.
  Edge(FromList, const Edge& lent)
      : to(std::move(lent.to)),
        pull(std::move(lent.pull)),
        add_to(std::move(lent.add_to)),
        wants_output(lent.wants_output) {}

  mutable Ref<Node> to;            ///< the input's vertex; null if it needs no gradient
  mutable Pull pull;               ///< gx from gy and y; none in a joint rule
  mutable AddTo add_to;            ///< may be none
  bool wants_output = false;       ///< whether the rule was given y
  const Tensor* source = nullptr;  ///< the input itself while record() runs: for AnomalyMode
};

class HookList;  // hooks.hpp

/// The rule of a function of several results, which is one vertex of the graph. Each result is a vertex too
/// (Node::result_of), with one edge to the function's. The engine collects the gradients of the results until
/// all have arrived, then visits the function once. It has a rule or recompute.
struct MultiOutput {
  /// One result.
  struct Result {
    Shape shape;          ///< of its tensor
    DType dtype;          ///< of its tensor
    bool differentiable;  ///< whether the dtype is floating
  };
  std::vector<Result> results;   ///< in order
  ManyRule rule;                 ///< the gradients of the inputs, from those of the results
  std::vector<Saved> outputs{};  ///< the rule's second argument: aliases outside the graph
  /// Computes the results again with their graph, which the engine walks in place of this vertex.
  std::function<std::vector<Tensor>()> recompute{};
};

/// A vertex of the graph: a leaf that collects its gradient, or the op that made a tensor. A function of
/// several results is a multi_output, with a vertex for each result above it.
struct Node : RefCounted {
  /// A leaf; an op; a function of several results; one of these results.
  enum class Kind : uint8_t { leaf, op, multi_output, result };

  /// A vertex without edges; make() also numbers it.
  Node(Kind kind_, std::string_view op_, const Shape& shape_, DType dtype_, uint64_t sequence_);
  ~Node();

  std::string_view op;                 ///< its name, as in kRecordedOps; "leaf" for one
  Kind kind;                           ///< decides which of the following members are used
  DType dtype;                         ///< of the result, or of the leaf
  bool released = false;               ///< backward has freed its rules
  bool rounded = false;                ///< its products round operands to bfloat16 (Autocast)
  uint32_t result = 0;                 ///< of a result: its index in results
  uint64_t sequence;                   ///< order of creation: inputs always come before outputs; 0 for leaves
  Shape shape;                         ///< of the result, or of the leaf
  std::vector<Edge> edges;             ///< one for each input that gradients flow to
  JointRule joint;                     ///< if set, used instead of the edges' own pulls
  Saved output{Tensor()};              ///< a detached alias of the result, if a rule takes y; see KeepValues
  Tensor grad;                         ///< of a leaf
  const TensorImpl* owner = nullptr;   ///< of a leaf: requires_grad_() was called on it
  std::unique_ptr<MultiOutput> multi;  ///< of a multi_output
  std::shared_ptr<HookList> hooks;     ///< none until the first is registered

  // Used by the first backward pass that reaches this vertex; other passes (nested, other threads) use a map.
  std::atomic<uint64_t> pass = 0;  ///< the id of that pass; 0: none
  size_t slot = 0;                 ///< the slot of this vertex in that pass
  Node* next_to_delete = nullptr;  ///< graphs are freed without recursion

  bool is_leaf() const { return kind == Kind::leaf; }  ///< not the result of an op
  void release();                                      ///< frees rules and what they captured
  /// A leaf for a tensor of that shape.
  static Ref<Node> leaf(const Shape& shape, DType dtype);
  /// Returns the next number in the order of creation.
  static uint64_t take_sequence();
  /// Makes a vertex that is not a leaf, the newest in the order of creation.
  static Ref<Node> make(Kind kind, std::string_view op, const Shape& shape, DType dtype);
  /// A vertex for result `i` of a multi_output.
  static Ref<Node> result_of(const Ref<Node>& function, size_t i);
};

/// The ops that `roots` depend on, and the roots, oldest first. graph_text() gives element i number i + 1.
std::vector<const Node*> ops_below(const std::vector<const Node*>& roots);

/// The value that was kept (see KeepValues); undefined if none was, or if it has been overwritten.
Tensor value_of(const Node& node);

/// "sqrt float64 (2)": op, result, dtype and shape.
std::string describe(const Node& node);
/// "%3 = sqrt float64 (2)" if it is the third of `ops`; without a number if it is none of them.
std::string describe(const Node& node, const std::vector<const Node*>& ops);

}  // namespace autograd

// The recorded graph as text. The same computation gives the same text. Also works on a graph that backward
// has freed ("freed" follows its ops). Thread-safety: reads the graph.
//
//   x = leaf float64 (2, 3)              a leaf, by its name
//   %1 = exp float64 (2, 3) <- x         op number 1, oldest first; only inputs that gradients flow to
//   %2 = sum float64 () <- %1

/// Names for leaves, as Module::named_parameters() gives them; others are leaf1, leaf2, ... by first use.
using LeafNames = std::vector<std::pair<std::string, Tensor>>;

/// One line for each leaf, then one for each op. Throws Error if y requires no gradient.
std::string graph_text(const std::vector<Tensor>& ys, const LeafNames& names = {});
inline std::string graph_text(const Tensor& y, const LeafNames& names = {}) {
  return graph_text(std::vector{y}, names);
}

/// The same in the DOT language: `dot -Tsvg`. Arrows point the way values flow.
std::string graph_dot(const std::vector<Tensor>& ys, const LeafNames& names = {});
inline std::string graph_dot(const Tensor& y, const LeafNames& names = {}) {
  return graph_dot(std::vector{y}, names);
}

}  // namespace gradus
