// record(): the one door into the graph of gradients, for the library's ops and for users' own.
//
// An op computes its result outside the graph, then records one Edge for each input that gradients flow to.
// An edge says how: gx = pull(gy). Pulls are written with public ops, so that a gradient can be
// differentiated again. What a pull captures is all that backward keeps alive; tensors are captured as Saved,
// which notices when their values were changed in between. Edges to inputs that need no gradient are dropped
// at once, captures and all.
//
// The engine does what all rules have in common: sum a gradient over broadcast dimensions, check shapes, add
// up, free.
#pragma once

#include <functional>
#include <initializer_list>
#include <ostream>
#include <vector>

#include "gradus/autograd/inline_function.hpp"
#include "gradus/autograd/op_names.hpp"
#include "gradus/autograd/tensor.hpp"

namespace gradus {

/// Whether ops of this thread are recorded.
bool grad_enabled();

/// While it lives, ops of this thread are recorded (true) or not (false).
class GradMode {
 public:
  explicit GradMode(bool enabled);
  ~GradMode();
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;

 private:
  bool before_;
};

/// While it lives, nothing is recorded: evaluation, generation, updates of parameters.
class NoGrad : public GradMode {
 public:
  NoGrad() : GradMode(false) {}
};

/// A tensor kept for backward. Using it throws Error if its values were overwritten since.
class Saved {
 public:
  explicit Saved(const Tensor& tensor) : tensor_(tensor) {
    if (tensor.defined()) version_ = tensor.impl()->storage->version();
  }
  const Tensor& operator*() const {
    if (tensor_.defined() && tensor_.impl()->storage->version() != version_) refuse();
    return tensor_;
  }
  const Tensor* operator->() const { return &**this; }
  operator const Tensor&() const { return **this; }  // NOLINT: rules read best without a cast

 private:
  [[noreturn]] void refuse() const;
  Tensor tensor_;
  uint64_t version_ = 0;
};

inline constexpr size_t kMaxCaptures = 128;  // bytes

/// How the gradient reaches one input.
class Edge {
 public:
  using Pull = InlineFunction<Tensor(const Tensor& gy, const Tensor& y), kMaxCaptures>;
  using AddTo = InlineFunction<void(const Tensor& gy, Tensor& sum), 2 * sizeof(Shape)>;

  /// `rule(gy)` or `rule(gy, y)` returns gx; y is the op's output, handed over because capturing it would be
  /// a cycle. gx may have the broadcast shape: the engine sums it to the input's.
  template <class F>
  Edge(const Tensor& input, F rule) : Edge(input) {
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
  Edge take() const {
    Edge e{Tensor()};
    e.to = std::move(to);
    e.pull = std::move(pull);
    e.add_to = std::move(add_to);
    e.wants_output = wants_output;
    return e;
  }

  mutable Ref<Node> to;
  mutable Pull pull;
  mutable AddTo add_to;
  bool wants_output = false;
};

/// Which inputs of a joint rule need their gradient; the rule may leave the others undefined.
class Needs {
 public:
  void set(size_t i) { bits_ |= 1U << i; }
  bool operator[](size_t i) const { return (bits_ >> i & 1U) != 0; }

 private:
  uint32_t bits_ = 0;
};

/// All input gradients at once, for fused backward kernels: (gy, y, needs) -> one tensor an input.
using JointRule = std::function<std::vector<Tensor>(const Tensor& gy, const Tensor& y, Needs needs)>;

/// Makes `out` (fresh, outside the graph) the result of `op`. Returns it.
Tensor record(OpName op, Tensor out, std::initializer_list<Edge> edges);
Tensor record(OpName op, Tensor out, std::initializer_list<Tensor> inputs, JointRule rule);
Tensor record(OpName op, Tensor out, const std::vector<Tensor>& inputs, JointRule rule);

/// A vertex of the graph: a leaf that collects its gradient, or the op that made a tensor.
struct Node : RefCounted {
  std::string_view op = "leaf";
  uint64_t sequence = 0;  ///< order of creation: inputs always come before outputs
  Shape shape;            ///< of the tensor this node stands for
  DType dtype = DType::float32;
  std::vector<Edge> edges;
  JointRule joint;         ///< if set, used instead of the edges' own pulls
  Saved output{Tensor()};  ///< a detached alias of the result, if a rule asks for it
  bool released = false;   ///< a backward has used and freed it
  Tensor grad;             ///< of a leaf

  // Scratch of the engine run that visits this node; saved and restored by nested runs.
  uint64_t run = 0;
  size_t slot = 0;

  bool is_leaf() const { return op == "leaf"; }
  void release();
  static Ref<Node> leaf(const Shape& shape, DType dtype);
};

}  // namespace gradus
