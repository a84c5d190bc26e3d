// Compares an operation in float32 with itself in float64.
#pragma once

#include "autograd/compare.hpp"

namespace gradus::testing {

struct NamedOp {
  const char* name;
  Tensor (*f)(const Tensor& x);
};

/// f and its gradient in float32, with those in float64, composed of public ops, as the oracle.
inline void check_against_float64(const NamedOp& c, const Tensor& x, double tolerance,
                                  bool create_graph = false) {
  const auto run = [&](const Tensor& at, bool composed) {
    const Tensor leaf = at.detach().requires_grad_(), y = c.f(leaf);
    Generator g(7);
    const Tensor gy = rand(y.shape(), g, DType::float64).to(at.dtype()) + 0.5;
    return std::pair(y.detach(),
                     grad({y}, {leaf}, {.grad_outputs = {gy}, .create_graph = composed})[0].detach());
  };
  const auto [y, gx] = run(x, create_graph);
  const auto [right_y, right_gx] = run(x.to(DType::float64), true);
  INFO(c.name << (create_graph ? ", recorded" : ""));
  CHECK(relative_error(y, right_y) < tolerance);
  CHECK(relative_error(gx, right_gx) < tolerance);
}

}  // namespace gradus::testing
