#include "gradus/autograd/functional/functional.hpp"

#include <string_view>

#include "gradus/autograd/engine/backward.hpp"
#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/autograd/reference/forward.hpp"
#include "gradus/autograd/tensor/raw.hpp"

namespace gradus {

using autograd::Product;
using autograd::Products;

namespace {

// A function's inputs and results.
struct Call {
  std::vector<Tensor> inputs, outputs;
};

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

// Copies the inputs of floating dtypes, so that no two share memory.
std::vector<Tensor> apart(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> all;
  for (const Tensor& x : inputs)
    all.push_back(x.defined() && is_floating(x.dtype()) ? raw::clone(x.detach()) : x);
  return all;
}

Tensor zeros_like(const Tensor& x) { return zeros(x.shape(), x.dtype()); }

// The gradient of sum(v_i * outputs_i); 0 for an input that nothing depends on.
std::vector<Tensor> pull_back(std::string_view op, const std::vector<Tensor>& outputs,
                              const std::vector<Tensor>& v, const std::vector<Tensor>& inputs,
                              const DerivativeOptions& options) {
  std::vector<Tensor> g = autograd::defined_gradients(outputs, inputs, v, options.create_graph);
  for (size_t i = 0; i < g.size(); ++i) {
    if (!g[i].defined() && options.strict)
      fail(op, "every output must depend on every input (strict), got none that depends on input ", i, ".");
    if (!g[i].defined()) g[i] = zeros_like(inputs[i]);
  }
  return g;
}

std::vector<Tensor> finish(std::vector<Tensor> tensors, bool create_graph) {
  if (!create_graph)
    for (Tensor& t : tensors) t = t.detach();
  return tensors;
}

Products finish(const Call& c, std::vector<Tensor> product, const DerivativeOptions& options) {
  return {finish(c.outputs, options.create_graph), finish(std::move(product), options.create_graph)};
}

// Forward mode counts as this many backward passes: its loops are plain ones.
constexpr int64_t kForwardCost = 8;

int64_t elements(const std::vector<Tensor>& tensors) {
  int64_t n = 0;
  for (const Tensor& t : tensors) n += t.numel();
  return n;
}

// Rows or columns of dy / dx as one tensor, of y's shape followed by that of x.
Tensor joined(const std::vector<Tensor>& parts, int64_t dim, const Tensor& y, const Tensor& x) {
  Shape shape = y.shape();
  for (const int64_t size : x.shape()) shape.push_back(size);
  return parts.empty() ? zeros(shape, x.dtype()) : stack(parts, dim).reshape(shape);
}

// The jacobian by columns, in forward mode: [output][input]. Empty if that takes a user's rule.
std::vector<std::vector<Tensor>> columns(const autograd::Trace& trace, const Call& c) {
  std::vector<std::vector<Tensor>> result(c.outputs.size());
  std::vector<Tensor> v;
  for (const Tensor& x : c.inputs) v.push_back(zeros_like(x));
  for (size_t i = 0; i < v.size(); ++i) {
    std::vector<std::vector<Tensor>> found(c.outputs.size());
    for (int64_t k = 0; k < v[i].numel(); ++k) {
      Tensor one = v[i].reshape({-1}).select(0, k);
      one.fill_(1.0);
      const std::vector<Tensor> products = reference::forward(trace, c.inputs, v, c.outputs);
      one.fill_(0.0);
      if (products.empty()) return {};
      for (size_t o = 0; o < products.size(); ++o) found[o].push_back(products[o]);
    }
    for (size_t o = 0; o < found.size(); ++o) result[o].push_back(joined(found[o], -1, c.outputs[o], v[i]));
  }
  return result;
}

// The derivatives of y by rows, in reverse mode: for each input.
std::vector<Tensor> rows(std::string_view op, const Tensor& y, const std::vector<Tensor>& inputs,
                         const DerivativeOptions& options) {
  const int64_t n = y.numel();
  std::vector<std::vector<Tensor>> found(inputs.size());
  for (int64_t k = 0; k < n; ++k) {
    Tensor unit = zeros({n}, y.dtype());
    unit.select(0, k).fill_(1.0);
    std::vector<Tensor> g = pull_back(op, {y}, {unit.reshape(y.shape())}, inputs, options);
    for (size_t i = 0; i < g.size(); ++i) found[i].push_back(std::move(g[i]));
  }
  std::vector<Tensor> result;
  for (size_t i = 0; i < inputs.size(); ++i) result.push_back(joined(found[i], 0, y, inputs[i]));
  return finish(std::move(result), options.create_graph);
}

std::vector<Tensor> gradient(std::string_view op, const Call& c, bool strict) {
  const Tensor& y = c.outputs.at(0);
  if (y.numel() != 1) fail(op, "the function must give one value, got shape ", y.shape(), ".");
  return pull_back(op, c.outputs, {ones(y.shape(), y.dtype())}, c.inputs,
                   {.create_graph = true, .strict = strict});
}

ListFunction list(const TensorFunction& f) {
  return [&f](const std::vector<Tensor>& xs) { return std::vector<Tensor>{f(xs[0])}; };
}
ListFunction list(const ScalarFunction& f) {
  return [&f](const std::vector<Tensor>& xs) { return std::vector<Tensor>{f(xs)}; };
}
ScalarFunction scalar(const TensorFunction& f) {
  return [&f](const std::vector<Tensor>& xs) { return f(xs[0]); };
}
std::vector<Tensor> given(const Tensor& v) {
  return v.defined() ? std::vector<Tensor>{v} : std::vector<Tensor>{};
}
Product only(const Products& p) { return {p.outputs[0], p.products[0]}; }

}  // namespace

std::vector<std::vector<Tensor>> jacobian(const ListFunction& f, const std::vector<Tensor>& inputs,
                                          const DerivativeOptions& options) {
  const GradMode on(true);
  const bool by_rules = options.create_graph || options.strict;
  autograd::Trace trace;
  Call c;
  {
    const autograd::Tracing tracing(by_rules ? nullptr : &trace);
    c = call("jacobian", f, by_rules ? inputs : apart(inputs), options.create_graph);
  }
  const bool is_tall = elements(c.outputs) > kForwardCost * elements(c.inputs);
  std::vector<std::vector<Tensor>> result;
  if (!by_rules && is_tall) result = columns(trace, c);
  if (!result.empty()) return result;
  for (const Tensor& y : c.outputs) result.push_back(rows("jacobian", y, c.inputs, options));
  return result;
}

std::vector<std::vector<Tensor>> hessian(const ScalarFunction& f, const std::vector<Tensor>& inputs,
                                         const DerivativeOptions& options) {
  const GradMode on(true);
  const Call c = call("hessian", list(f), inputs, options.create_graph);
  std::vector<std::vector<Tensor>> result;
  for (const Tensor& g : gradient("hessian", c, options.strict))
    result.push_back(rows("hessian", g, c.inputs, options));
  return result;
}

Products vjp(const ListFunction& f, const std::vector<Tensor>& inputs, const std::vector<Tensor>& v,
             const DerivativeOptions& options) {
  const GradMode on(true);
  const Call c = call("vjp", f, inputs, options.create_graph);
  std::vector<Tensor> vectors = v;
  if (v.empty())
    for (const Tensor& y : c.outputs) {
      if (y.numel() != 1) fail("vjp", "needs a vector for an output of shape ", y.shape(), ".");
      vectors.push_back(ones(y.shape(), y.dtype()));
    }
  check_vectors("vjp", vectors, c.outputs);
  return finish(c, pull_back("vjp", c.outputs, vectors, c.inputs, options), options);
}

Products jvp(const ListFunction& f, const std::vector<Tensor>& inputs, const std::vector<Tensor>& v,
             const DerivativeOptions& options) {
  check_vectors("jvp", v, inputs);
  const GradMode on(true);
  const bool by_rules = options.create_graph || options.strict;
  autograd::Trace trace;
  Call c;
  {
    const autograd::Tracing tracing(by_rules ? nullptr : &trace);
    c = call("jvp", f, by_rules ? inputs : apart(inputs), options.create_graph);
  }
  if (!by_rules)
    if (std::vector<Tensor> product = reference::forward(trace, c.inputs, v, c.outputs); !product.empty())
      return finish(c, std::move(product), options);
  std::vector<Tensor> u;
  for (const Tensor& y : c.outputs) u.push_back(zeros_like(y).requires_grad_());
  const std::vector<Tensor> g =
      pull_back("jvp", c.outputs, u, c.inputs, {.create_graph = true, .strict = options.strict});
  return finish(c, pull_back("jvp", g, v, u, options), options);
}

Products hvp(const ScalarFunction& f, const std::vector<Tensor>& inputs, const std::vector<Tensor>& v,
             const DerivativeOptions& options) {
  check_vectors("hvp", v, inputs);
  const GradMode on(true);
  const Call c = call("hvp", list(f), inputs, options.create_graph);
  const std::vector<Tensor> g = gradient("hvp", c, options.strict);
  return finish(c, pull_back("hvp", g, v, c.inputs, options), options);
}

Tensor jacobian(const TensorFunction& f, const Tensor& x, const DerivativeOptions& options) {
  return jacobian(list(f), {x}, options)[0][0];
}
Tensor hessian(const TensorFunction& f, const Tensor& x, const DerivativeOptions& options) {
  return hessian(scalar(f), {x}, options)[0][0];
}
Product vjp(const TensorFunction& f, const Tensor& x, const Tensor& v, const DerivativeOptions& options) {
  return only(vjp(list(f), {x}, given(v), options));
}
Product jvp(const TensorFunction& f, const Tensor& x, const Tensor& v, const DerivativeOptions& options) {
  return only(jvp(list(f), {x}, {v}, options));
}
Product hvp(const TensorFunction& f, const Tensor& x, const Tensor& v, const DerivativeOptions& options) {
  return only(hvp(scalar(f), {x}, {v}, options));
}

}  // namespace gradus
