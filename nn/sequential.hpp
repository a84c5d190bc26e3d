// Sequential: layers called one after another. Ownership and thread-safety as in module.hpp.
#pragma once

#include <concepts>
#include <string>
#include <tuple>
#include <utility>

#include "gradus/autograd/random/random.hpp"
#include "gradus/nn/module.hpp"

namespace gradus::nn {

/// Sequential model{Linear(2, 16, true, g), Tanh(), Linear(16, 1, true, g)}; the layers are named 0, 1, 2. In
/// braces, because there the layers draw from g from left to right; in parentheses that is up to the
/// compiler.
template <std::derived_from<Module>... Layers>
class Sequential : public Module {
 public:
  /// The layers are moved in, or copied, which shares their parameters.
  explicit Sequential(Layers... layers) : layers_(std::move(layers)...) {}

  /// The generator goes to those layers that take one.
  Tensor operator()(Tensor x, Generator* dropout = nullptr) const {
    std::apply([&](const Layers&... layer) { ((x = call(layer, x, dropout)), ...); }, layers_);
    return x;
  }

  void visit(Visitor& v) override {
    int i = 0;
    std::apply([&](Layers&... layer) { (v(std::to_string(i++), layer), ...); }, layers_);
  }

 private:
  template <class Layer>
  static Tensor call(const Layer& layer, const Tensor& x, Generator* dropout) {
    if constexpr (std::invocable<const Layer&, const Tensor&, Generator*>) {
      return layer(x, dropout);
    } else {
      return layer(x);
    }
  }

  std::tuple<Layers...> layers_;
};

}  // namespace gradus::nn
