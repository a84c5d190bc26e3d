// Node: a vertex of the graph of gradients, and the edges to what it was made from.
//
// For record(), the engine and those who read graphs. Thread-safety: see tensor/tensor.hpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "gradus/autograd/graph/grad_mode.hpp"
#include "gradus/autograd/graph/inline_function.hpp"
#include "gradus/autograd/graph/rules.hpp"
#include "gradus/autograd/graph/saved.hpp"
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
  /// Also gives a cheaper way for the case that nobody will differentiate the gradient: accumulate(gy, sum)
  /// adds gx into `sum`, which is packed and of the input's shape, or undefined if this is the first
  /// contribution.
  template <class F, class G>
  Edge(const Tensor& input, F rule, G accumulate) : Edge(input, std::move(rule)) {
    if (to) add_to = AddTo(std::move(accumulate));
  }

  /// An edge without a pull of its own, for joint rules.
  explicit Edge(const Tensor& input) {
    if (grad_enabled() && input.defined() && input.requires_grad()) to = input.impl()->node;
  }
  /// Moves the contents out of an edge in a braced list, which C++ lends as const only.
  static constexpr struct FromList {
  } kFromList{};  ///< asks for that
  /// For record(), which owns the list.
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

struct Block;    // block.hpp
class HookList;  // hooks.hpp

/// A vertex of the graph: a leaf that collects its gradient, or the op that made a tensor. A function of
/// several results is a block, with a vertex for each result above it.
struct Node : RefCounted {
  /// A leaf; an op; a function of several results, and one of these.
  enum class Kind : uint8_t { leaf, op, block, result };

  /// Without edges yet; make() does the counting.
  Node(Kind kind_, std::string_view op_, const Shape& shape_, DType dtype_, uint64_t sequence_);
  ~Node();

  std::string_view op;              ///< its name, as in kRecordedOps; "leaf" for one
  Kind kind;                        ///< which decides what of the following is used
  DType dtype;                      ///< of the tensor this node stands for
  bool released = false;            ///< a backward has used and freed it
  bool rounded = false;             ///< its products are of operands rounded to bfloat16 (autocast.hpp)
  uint32_t result = 0;              ///< of a result: its place among the block's
  uint64_t sequence;                ///< order of creation: inputs always come before outputs; 0 for leaves
  Shape shape;                      ///< of the tensor this node stands for
  std::vector<Edge> edges;          ///< one an input that gradients flow to
  JointRule joint;                  ///< if set, used instead of the edges' own pulls
  Saved output{Tensor()};           ///< a detached alias of the result, if a rule asks for it
  Tensor grad;                      ///< of a leaf
  std::unique_ptr<Block> block;     ///< of a block: its rule
  std::shared_ptr<HookList> hooks;  ///< none until the first is registered

  // Scratch of the engine run that came here first; others, nested ones or on other threads, keep their own.
  std::atomic<uint64_t> run = 0;   ///< which one; 0: none
  size_t slot = 0;                 ///< its place there
  Node* next_to_delete = nullptr;  ///< graphs are freed without recursion

  bool is_leaf() const { return kind == Kind::leaf; }  ///< made by nobody
  void release();                                      ///< frees rules and what they captured
  /// A leaf for a tensor of that shape.
  static Ref<Node> leaf(const Shape& shape, DType dtype);
  /// The next place in the order of creation.
  static uint64_t take_sequence();
  /// The newest of all, not a leaf.
  static Ref<Node> make(Kind kind, std::string_view op, const Shape& shape, DType dtype);
  /// A vertex for result `i` of a block.
  static Ref<Node> result_of(const Ref<Node>& block, size_t i);
};

}  // namespace gradus::autograd
