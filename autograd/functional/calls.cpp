#include "gradus/autograd/functional/calls.hpp"

#include "gradus/autograd/engine/backward.hpp"
#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/ops/ops.hpp"

namespace gradus::derivatives {

using autograd::Products;

Call call(std::string_view op, const ListFunction& f, const std::vector<Tensor>& given, bool create_graph) {
  Call c;
  for (size_t i = 0; i < given.size(); ++i) {
    if (!given[i].defined() || !is_floating(given[i].dtype()))
      fail(op, "input ", i, " must hold float32 or float64 values, got ",
           given[i].defined() ? name(given[i].dtype()) : "none", ".");
    Tensor x = given[i].detach().requires_grad_();
    // The same values as a new vertex of the graph, at which the derivative is taken, and which leads to the
    // inputs of these values.
    if (create_graph && given[i].requires_grad())
      x = record("alias", given[i].detach(), {{given[i], [](const Tensor& gy) { return gy; }}});
    c.inputs.push_back(std::move(x));
  }
  c.outputs = f(c.inputs);
  for (size_t i = 0; i < c.outputs.size(); ++i)
    if (!c.outputs[i].defined()) fail(op, "the function must give defined tensors, got none at ", i, ".");
  return c;
}

void check_vectors(std::string_view op, const std::vector<Tensor>& v, const std::vector<Tensor>& like) {
  if (v.size() != like.size()) fail(op, "needs ", like.size(), " vectors, got ", v.size(), ".");
  for (size_t i = 0; i < v.size(); ++i) {
    const bool fits = v[i].defined() && v[i].shape() == like[i].shape() && v[i].dtype() == like[i].dtype();
    if (!fits)
      fail(op, "vector ", i, " must be ", name(like[i].dtype()), " ", like[i].shape(), ", got ",
           v[i].defined() ? concat(name(v[i].dtype()), " ", v[i].shape()) : "none", ".");
  }
}

static Tensor zeros_like(const Tensor& x) { return zeros(x.shape(), x.dtype()); }

std::vector<Tensor> pull_back(std::string_view op, const std::vector<Tensor>& outputs,
                              const std::vector<Tensor>& v, const std::vector<Tensor>& inputs,
                              const DerivativeOptions& options) {
  std::vector<Tensor> ys, cotangents;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].requires_grad()) continue;
    ys.push_back(outputs[i]);
    cotangents.push_back(v[i]);
  }
  std::vector<Tensor> g(inputs.size());
  if (!ys.empty())
    g = grad(ys, inputs,
             {.grad_outputs = cotangents,
              .create_graph = options.create_graph,
              .retain_graph = true,
              .allow_unused = true});
  for (size_t i = 0; i < g.size(); ++i) {
    if (!g[i].defined() && options.strict)
      fail(op, "every output must depend on every input (strict), got none that depends on input ", i, ".");
    if (!g[i].defined()) g[i] = zeros_like(inputs[i]);
  }
  return g;
}

static std::vector<Tensor> finish(std::vector<Tensor> tensors, bool create_graph) {
  if (!create_graph)
    for (Tensor& t : tensors) t = t.detach();
  return tensors;
}

Products finish(const Call& c, std::vector<Tensor> product, const DerivativeOptions& options) {
  return {finish(c.outputs, options.create_graph), finish(std::move(product), options.create_graph)};
}

Products pushed_by_rules(const Call& c, const std::vector<Tensor>& v, const DerivativeOptions& options) {
  std::vector<Tensor> u;
  for (const Tensor& y : c.outputs) u.push_back(zeros_like(y).requires_grad_());
  const std::vector<Tensor> g =
      pull_back("jvp", c.outputs, u, c.inputs, {.create_graph = true, .strict = options.strict});
  return derivatives::finish(c, pull_back("jvp", g, v, u, options), options);
}

}  // namespace gradus::derivatives
