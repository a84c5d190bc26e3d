#include "gradus/autograd/functional/functional.hpp"

#include <algorithm>
#include <string_view>

#include "gradus/autograd/functional/calls.hpp"
#include "gradus/autograd/ops/ops.hpp"

namespace gradus {

using autograd::Product;
using autograd::Products;

namespace {

using namespace derivatives;

// The shapes of y and of each input, joined.
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
  for (size_t i = 0; i < inputs.size(); ++i) {
    Shape shape = y.shape();
    for (const int64_t size : inputs[i].shape()) shape.push_back(size);
    result.push_back(n == 0 ? zeros(shape, inputs[i].dtype()) : stack(found[i], 0).reshape(shape));
  }
  return derivatives::finish(std::move(result), options.create_graph);
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
  const Call c = call("jacobian", f, inputs, options.create_graph);
  std::vector<std::vector<Tensor>> result;
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
  return derivatives::finish(c, pull_back("vjp", c.outputs, vectors, c.inputs, options), options);
}

Products hvp(const ScalarFunction& f, const std::vector<Tensor>& inputs, const std::vector<Tensor>& v,
             const DerivativeOptions& options) {
  check_vectors("hvp", v, inputs);
  const GradMode on(true);
  const Call c = call("hvp", list(f), inputs, options.create_graph);
  const std::vector<Tensor> g = gradient("hvp", c, options.strict);
  return derivatives::finish(c, pull_back("hvp", g, v, c.inputs, options), options);
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
Product hvp(const TensorFunction& f, const Tensor& x, const Tensor& v, const DerivativeOptions& options) {
  return only(hvp(scalar(f), {x}, {v}, options));
}

}  // namespace gradus
