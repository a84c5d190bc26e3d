// Comparison of operations with their definitions in plain loops: values, and gradients by forward mode.
#pragma once

#include "autograd/compare.hpp"
#include "gradus/autograd/engine/backward.hpp"
#include "gradus/autograd/functional/functional.hpp"
#include "gradus/autograd/reference/replay.hpp"

namespace gradus::testing {

/// The rounding that a call may do: of an x in 8 bits beside a weight in tiles, of float32, or of float64.
inline double tolerance_of(const autograd::TracedCall& call) {
  for (const autograd::Attribute& a : call.attributes)
    if (const Tensor* t = std::get_if<Tensor>(&a); t && t->defined() && is_in_tiles(t->dtype())) return 1e-2;
  return call.outputs[0].dtype() == DType::float64 ? 1e-13 : 1e-5;
}

/// The largest difference of a call from its definition, relative to the largest input and at least 1;
/// infinite for a call without definition.
inline double error_of_call(const autograd::TracedCall& call) {
  reference::Replay<double> replay;
  if (!replay.run(call) || !replay.has(call.outputs[0])) return INFINITY;
  const auto right = replay.get(call.outputs[0]).data,
             got = reference::array_of<double>(call.outputs[0]).data;
  double largest = 1, worst = 0;
  for (const Tensor& x : call.inputs)
    for (const double v : reference::array_of<double>(x).data)
      if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] == right[i] || (std::isnan(got[i]) && std::isnan(right[i]))) continue;
    const double error = std::abs(got[i] - right[i]) / std::max(largest, std::abs(right[i]));
    worst = error < INFINITY ? std::max(worst, error) : INFINITY;
  }
  return worst;
}

/// Compares each call that f records at x, and f's gradient for a random cotangent along a random direction,
/// with the definitions. Returns the names of the calls.
inline std::vector<std::string> check_by_definition(const std::function<Tensor(const Tensor&)>& f,
                                                    const Tensor& x) {
  std::vector<std::string> names;
  autograd::Trace trace;
  Tensor y;
  const Tensor leaf = x.detach().requires_grad_();
  {
    const autograd::Tracing on(&trace);
    y = f(leaf);
  }
  for (const autograd::TracedCall& call : trace.calls) {
    if (!is_floating(call.outputs[0].dtype())) continue;
    INFO(call.op << " " << call.outputs[0].shape());
    CHECK(error_of_call(call) <= tolerance_of(call));
    names.emplace_back(call.op);
  }
  Generator generator(1);
  const Tensor v = randn(y.shape(), generator, x.dtype()), u = randn(x.shape(), generator, x.dtype());
  const Tensor g = grad({y}, {leaf}, {.grad_outputs = {v}})[0], along = jvp(f, x, u).product;
  const auto wide = [](const Tensor& t) { return t.detach().to(DType::float64); };
  const Tensor left = wide(g) * wide(u), right = wide(v) * wide(along);
  const double size = sum(abs(left)).item() + sum(abs(right)).item();
  CHECK(std::abs(sum(left).item() - sum(right).item()) <=
        (x.dtype() == DType::float64 ? 1e-12 : 1e-5) * size);
  return names;
}

}  // namespace gradus::testing
