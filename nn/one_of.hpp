// OneOf: a member that is one of several layers, chosen when it is made. A plain value, as the layers are.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>
#include <variant>

#include "gradus/nn/module.hpp"

namespace gradus::nn {

/// One of several layers that are called alike: OneOf<LayerNorm, RMSNorm> norm = RMSNorm(64); norm(x). In a
/// visit it is listed as v("norm", norm.module()).
template <std::derived_from<Module>... Layers>
class OneOf {
 public:
  /// Holds that layer.
  template <class Layer>
  requires(std::same_as<Layer, Layers> || ...) OneOf(Layer layer)
      : layer_(std::move(layer)) {}  // NOLINT: any of them is one of them

  /// Calls the layer.
  template <class... Args>
  Tensor operator()(Args&&... args) const {
    return apply([&](const auto& layer) { return layer(args...); });
  }
  /// f(layer): for what else all of them can do.
  template <class F>
  decltype(auto) apply(F&& f) const {
    return std::visit(std::forward<F>(f), layer_);
  }
  /// The layer, which must be of that kind; throws std::bad_variant_access if it is another.
  template <class Layer>
  Layer& as() {
    return std::get<Layer>(layer_);
  }
  /// The same of a constant.
  template <class Layer>
  const Layer& as() const {
    return std::get<Layer>(layer_);
  }
  /// What a visit lists.
  Module& module() {
    return std::visit([](Module& layer) -> Module& { return layer; }, layer_);
  }

 private:
  std::variant<Layers...> layer_;
};

}  // namespace gradus::nn
