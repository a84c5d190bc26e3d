// Sequential: layers and functions called one after another. Ownership and thread-safety as in module.hpp.
#pragma once

#include <concepts>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/autograd/random/random.hpp"
#include "gradus/nn/module.hpp"

namespace gradus::nn {

/// Sequential model{Linear(2, 16, g), gelu, Linear(16, 1, g)}; the layers are named 0 and 2. A part is a
/// Module, an operation of one tensor, or a lambda. Use braces, which make the layers from left to right, so
/// that they draw from g in this order; with parentheses the compiler chooses the order.
template <class... Parts>
class Sequential : public Module {
 public:
  /// Moves or copies the parts; a copy shares its parameters.
  explicit Sequential(Parts... parts) : parts_(std::move(parts)...) {}

  /// Passes the generator to the parts that take one.
  Tensor operator()(Tensor x, Generator* dropout = nullptr) const {
    std::apply([&](const Parts&... part) { ((x = call(part, x, dropout)), ...); }, parts_);
    return output(std::move(x));
  }

  void visit(Visitor& v) override {
    int i = 0;
    const auto list = [&](auto& part) {
      if constexpr (std::derived_from<std::remove_cvref_t<decltype(part)>, Module>)
        v(std::to_string(i), part);
      ++i;
    };
    std::apply([&](Parts&... part) { (list(part), ...); }, parts_);
  }

 private:
  template <class Part>
  static Tensor call(const Part& part, const Tensor& x, Generator* dropout) {
    if constexpr (std::invocable<const Part&, const Tensor&, Generator*>)
      return part(x, dropout);
    else if constexpr (std::same_as<Part, Tensor (*)(const Tensor&, Gelu)>)
      return part(x, Gelu::none);  // a pointer to gelu() does not have its default argument
    else
      return part(x);
  }

  std::tuple<Parts...> parts_;
};

}  // namespace gradus::nn
