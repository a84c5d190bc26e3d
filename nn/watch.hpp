// A look inside a model: Activations keeps values of a forward pass by name, Intervention replaces them.
//
//   const nn::Activations seen = nn::watch(model, {"h.*.attn.pattern"});
//   model(idx);
//   std::cout << seen["h.3.attn.pattern"];  // (B, nh, T, T)
//
//   const auto off = nn::Intervention::ablate(model, {"h.2.attn.head.1"});  // for the lifetime of `off`
//
// The name of a module's output is the module's path (h.3.mlp; h.3.mlp.out is the same point). The name of
// the output of the model itself is out. Modules have further points:
//
//   attention     q, k, v (B, heads, T, hs), rotated if the layer rotates them; scores, masked (-inf), and
//                 pattern, their softmax before dropout, (B, nh, T, S); head.0, head.1, ... (B, T, hs), the
//                 output of each head before the last projection
//   MLP, SwiGLU   act, the input of the last projection
//   blocks        resid_pre, resid_mid (B, T, C): the residual stream before attention and before the MLP;
//                 after the MLP, it is the block's output
//
// In a pattern, * is any text and ? any character. While scores or pattern of an attention are watched, the
// attention computes them by the formula, whose rounding and dropout differ from the fused one.
//
// If several watches match a value, they see it in the order in which they were made: an Activations made
// after an Intervention keeps the new value. A watch ends when its object and all copies of the object are
// destroyed. The object may outlive the model. A copy of a model is not watched. Thread-safety: a watched
// model may be used by one thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/autograd/tensor/tensor.hpp"
#include "gradus/nn/module.hpp"

namespace gradus::nn {

/// Options of watch().
struct WatchOptions {
  bool gradients = false;  ///< whether backward() keeps the gradients of the activations too
};

/// The values that passed the points of a model, by name. A point that is passed several times keeps each.
class Activations {
 public:
  /// Watches the points of `model` that match one of the patterns. Values are those of the graph, not copies.
  Activations(Module& model, std::vector<std::string> patterns, const WatchOptions& options = {});

  /// The value that passed last. Throws Error, listing the available names, if no value passed.
  const Tensor& operator[](std::string_view name) const;
  /// All values that passed, in order; empty if no value passed.
  const std::vector<Tensor>& all(std::string_view name) const;
  bool contains(std::string_view name) const { return !all(name).empty(); }  ///< whether a value passed
  std::vector<std::string> names() const;  ///< of the values, in the order in which they passed first
  /// The gradient of the value that passed last: the sum over all calls of backward() and grad() since then.
  /// Throws Error without the option `gradients`, and if no gradient arrived.
  Tensor grad(std::string_view name) const;
  /// The names of all points that the model passed, watched or not, in the order in which they passed first.
  const std::vector<std::string>& points() const;
  void clear();  ///< forgets all values, gradients and points

 private:
  std::shared_ptr<detail::Watch> watch_;
};

/// Activations(model, patterns, options).
inline Activations watch(Module& model, std::vector<std::string> patterns, const WatchOptions& options = {}) {
  return {model, std::move(patterns), options};
}

/// Replaces values inside a model during its lifetime. Gradients flow through what is recorded.
class Intervention {
 public:
  /// Returns the new value, of the same shape and dtype, for a value and its name.
  using Function = std::function<Tensor(const Tensor& x, const std::string& name)>;

  /// Replaces each value that matches one of the patterns. The model throws Error for a new value of another
  /// shape or dtype.
  Intervention(Module& model, std::vector<std::string> patterns, Function replace);

  /// Replaces the values with zeros.
  static Intervention ablate(Module& model, std::vector<std::string> patterns);
  /// Multiplies the values by `factor`.
  static Intervention scale(Module& model, std::vector<std::string> patterns, double factor);
  /// Replaces the values with those of another run (activation patching). The model throws Error if `source`
  /// lacks one of the values.
  static Intervention patch(Module& model, std::vector<std::string> patterns, const Activations& source);

 private:
  std::shared_ptr<detail::Watch> watch_;
};

}  // namespace gradus::nn
