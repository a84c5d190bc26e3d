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

/// The largest difference of a call from its definition, relative to the largest input; infinite without one.
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

/// The calls that f records.
template <class F>
std::vector<autograd::TracedCall> calls_of(const F& f) {
  autograd::Trace trace;
  const autograd::Tracing on(&trace);
  f();
  return trace.calls;
}

/// The largest difference of a call that f records from its definition.
template <class F>
double error_of_calls(const F& f) {
  double worst = 0;
  for (const autograd::TracedCall& call : calls_of(f))
    if (is_floating(call.outputs[0].dtype())) worst = std::max(worst, error_of_call(call));
  return worst;
}

/// Compares calls of f and gradients along a random direction with definitions. Returns the number of calls.
inline int check_by_definition(const ScalarFunction& f, const std::vector<Tensor>& inputs) {
  int calls = 0;
  std::vector<Tensor> leaves, u;
  Generator generator(1);
  for (const Tensor& x : inputs) {
    leaves.push_back(x.detach().requires_grad_());
    u.push_back(randn(x.shape(), generator, x.dtype()));
  }
  Tensor y;
  for (const autograd::TracedCall& call : calls_of([&] { y = f(leaves); })) {
    if (!is_floating(call.outputs[0].dtype())) continue;
    INFO(call.op << " " << call.outputs[0].shape());
    CHECK(error_of_call(call) <= tolerance_of(call));
    ++calls;
  }
  const Tensor v = randn(y.shape(), generator, y.dtype());
  const std::vector<Tensor> g = grad({y}, leaves, {.grad_outputs = {v}});
  const auto along = jvp([&](const std::vector<Tensor>& x) { return std::vector<Tensor>{f(x)}; }, inputs, u);
  double gap = 0, size = 0;
  const auto add = [&](const Tensor& a, const Tensor& b, double sign) {
    const Tensor terms = a.detach().to(DType::float64) * b.detach().to(DType::float64);
    gap += sign * sum(terms).item();
    size += sum(abs(terms)).item();
  };
  for (size_t i = 0; i < g.size(); ++i) add(g[i], u[i], 1);
  add(v, along.products[0], -1);
  CHECK(std::abs(gap) <= (y.dtype() == DType::float64 ? 1e-12 : 1e-5) * size);
  return calls;
}

}  // namespace gradus::testing
