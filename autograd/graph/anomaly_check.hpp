// The checks of AnomalyMode, called by record() and the engine. Internal.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus::autograd {

/// Throws Error if `out`, of `op`, holds NaN or infinities that no input has. An undefined input is unknown.
void check_value(std::string_view op, const Tensor& out, const std::vector<Tensor>& inputs);

/// Whether gx, the result of a rule for gys, holds NaN, or infinities that no gy holds.
bool is_anomaly(const Tensor& gx, std::span<const Tensor> gys);
/// Throws the Error for such a gx, of the rule of `from` for its input `to`; `ops` are the walked graph's.
[[noreturn]] void refuse_gradient(const Node& from, const Node& to, const std::vector<const Node*>& ops,
                                  const Tensor& gx, std::span<const Tensor> gys);

/// Throws Error if g, which the hooks of `node` gave, holds NaN, or infinities that `before` does not.
void check_hooked(const Node& node, const Tensor& g, const Tensor& before);

}  // namespace gradus::autograd
