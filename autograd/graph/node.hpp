// Node: a vertex of the graph of gradients, and the edges to its inputs.
//
// For record(), the engine and programs that read graphs. Thread-safety: see tensor/tensor.hpp.
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
#include "gradus/autograd/graph/rules.hpp"
#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus::autograd {

inline constexpr size_t kMaxCaptures = 128;  ///< bytes that a rule may capture

/// A pointer to something that lives as long as the expression it is written in, and forgets it when moved.
template <class T>
class Borrowed {
 public:
  Borrowed() = default;
  Borrowed(Borrowed&&) noexcept {}
  Borrowed& operator=(Borrowed&&) noexcept {
    object_ = nullptr;
    return *this;
  }
  void set(const T* object) { object_ = object; }  ///< null: nothing
  const T* get() const { return object_; }         ///< null if it was forgotten

 private:
  const T* object_ = nullptr;
};

/// How the gradient reaches one input.
class Edge {
 public:
  /// A rule as it is kept.
  using Pull = InlineFunction<Tensor(const Tensor& gy, const Tensor& y), kMaxCaptures>;
  /// A cheaper way to add it up.
  using AddTo = InlineFunction<void(const Tensor& gy, Tensor& sum), 2 * sizeof(Shape)>;

  /// `rule(gy)` or `rule(gy, y)` returns gx; y is the op's output, handed over because capturing it would be
  /// a cycle. gx may have the broadcast shape: the engine sums it to the input's.
  template <class F>
  Edge(const Tensor& input, F rule) : Edge(input) {
    source.set(&input);
    if (!to) return;
    if constexpr (std::is_invocable_v<F&, const Tensor&, const Tensor&>) {
      wants_output = true;
      pull = Pull(std::move(rule));
    } else {
      pull = Pull([rule = std::move(rule)](const Tensor& gy, const Tensor&) mutable { return rule(gy); });
    }
  }
  /// Adds a cheaper way for gradients that are not differentiated again: accumulate(gy, sum)
  /// adds gx into `sum`, which is packed and of the input's shape, or undefined if this is the first
  /// contribution.
  template <class F, class G>
  Edge(const Tensor& input, F rule, G accumulate) : Edge(input, std::move(rule)) {
    if (to) add_to = AddTo(std::move(accumulate));
  }

  /// An edge without a pull, for joint rules.
  explicit Edge(const Tensor& input) {
    if (grad_enabled() && input.defined() && input.requires_grad()) to = input.impl()->node;
  }
  /// Moves the contents out of an edge in a braced list, which C++ lends as const only.
  static constexpr struct FromList {
  } kFromList{};  ///< asks for that
  /// Takes over an edge of a list that record() owns.
  Edge(FromList, const Edge& lent)
      : to(std::move(lent.to)),
        pull(std::move(lent.pull)),
        add_to(std::move(lent.add_to)),
        wants_output(lent.wants_output) {}

  mutable Ref<Node> to;       ///< the input's vertex; null if it needs no gradient
  mutable Pull pull;          ///< gx from gy and y; none in a joint rule
  mutable AddTo add_to;       ///< may be none
  bool wants_output = false;  ///< whether the rule was given y
  Borrowed<Tensor> source;    ///< the input itself, while record() runs: for AnomalyMode
};

class HookList;  // hooks.hpp

/// The rule of a function of several results, which is one vertex of the graph. Each result is a vertex too
/// (Node::result_of), with one edge to the function's. The gradients of results wait in the engine until all
/// have come; then the function is visited once, with those that came. It has a rule or recompute.
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
  /// The results again, with the graph that made them: the engine walks it in place of this vertex.
  std::function<std::vector<Tensor>()> recompute{};
};

/// A vertex of the graph: a leaf that collects its gradient, or the op that made a tensor. A function of
/// several results is a multi_output, with a vertex for each result above it.
struct Node : RefCounted {
  /// A leaf; an op; a function of several results; one of these results.
  enum class Kind : uint8_t { leaf, op, multi_output, result };

  /// Without edges yet; make() does the counting.
  Node(Kind kind_, std::string_view op_, const Shape& shape_, DType dtype_, uint64_t sequence_);
  ~Node();

  std::string_view op;                 ///< its name, as in kRecordedOps; "leaf" for one
  Kind kind;                           ///< decides which of the following members are used
  DType dtype;                         ///< of the tensor this node stands for
  bool released = false;               ///< a backward has used and freed it
  bool rounded = false;                ///< its products round operands to bfloat16 (Autocast)
  uint32_t result = 0;                 ///< of a result: its index in results
  uint64_t sequence;                   ///< order of creation: inputs always come before outputs; 0 for leaves
  Shape shape;                         ///< of the tensor this node stands for
  std::vector<Edge> edges;             ///< one an input that gradients flow to
  JointRule joint;                     ///< if set, used instead of the edges' own pulls
  Saved output{Tensor()};              ///< a detached alias of the result, if a rule asks for it
  Tensor grad;                         ///< of a leaf
  std::unique_ptr<MultiOutput> multi;  ///< of a multi_output
  std::shared_ptr<HookList> hooks;     ///< none until the first is registered

  // Scratch of the backward pass that came here first; others, nested or on other threads, keep their own.
  std::atomic<uint64_t> pass = 0;  ///< its id; 0: none
  size_t slot = 0;                 ///< the slot of this vertex in that pass
  Node* next_to_delete = nullptr;  ///< graphs are freed without recursion

  bool is_leaf() const { return kind == Kind::leaf; }  ///< not the result of an op
  void release();                                      ///< frees rules and what they captured
  /// A leaf for a tensor of that shape.
  static Ref<Node> leaf(const Shape& shape, DType dtype);
  /// The next place in the order of creation.
  static uint64_t take_sequence();
  /// The newest of all, not a leaf.
  static Ref<Node> make(Kind kind, std::string_view op, const Shape& shape, DType dtype);
  /// A vertex for result `i` of a multi_output.
  static Ref<Node> result_of(const Ref<Node>& function, size_t i);
};

/// All vertices but leaves that `roots` depend on, and the roots, oldest first. Messages and graph_text()
/// give index i the number i + 1.
std::vector<const Node*> ops_below(const std::vector<const Node*>& roots);

/// "sqrt float64 (2)": op, result, dtype and shape.
std::string describe(const Node& node);
/// "%3 = sqrt float64 (2)" if it is the third of `ops`; without a number if it is none of them.
std::string describe(const Node& node, const std::vector<const Node*>& ops);

}  // namespace gradus::autograd
