#include <algorithm>

#include "gradus/autograd/engine/backward.hpp"
#include "gradus/autograd/functional/functional.hpp"
#include "gradus/autograd/graph/node.hpp"
#include "gradus/autograd/graph/trace.hpp"
#include "gradus/autograd/ops/ops.hpp"

namespace gradus {
namespace {

using autograd::Trace;
using autograd::TracedCall;
using Vector = std::vector<Tensor>;
constexpr std::string_view kOp = "per_example_gradients";

Tensor traced(Trace& trace, const ScalarFunction& losses, const Vector& batch) {
  const autograd::Tracing tracing(&trace);
  Tensor y = losses(batch);
  if (!y.defined() || y.shape() != Shape{batch[0].size(0)} || !y.requires_grad())
    fail(kOp, "the function must give one recorded loss for each of ", batch[0].size(0), " examples, got ",
         y.defined() ? concat(y.shape()) : "none", ".");
  return y;
}

// Whether x has a part for each example, by its shape in the same call with one example.
bool is_own(const Tensor& x, const Tensor& one, int64_t examples) {
  if (!x.defined() || x.shape() == one.shape()) return false;
  Shape expected = one.shape();
  if (!expected.empty()) expected[0] *= examples;
  if (x.shape() != expected)
    fail(kOp, "examples must stay in the first dimension, got ", x.shape(), " for ", one.shape(), " of one.");
  return true;
}

// The result of call number c as later calls, or the losses, have it: as a vertex of the graph. Undefined if
// nothing uses it.
Tensor recorded(const Trace& trace, size_t c, const Tensor& losses) {
  const TracedCall& call = trace.calls[c];
  const Tensor& out = call.outputs[0];
  const auto is_it = [&](const Tensor& x) {
    return x.defined() && x.requires_grad() && x.impl()->node->op == call.op && x.shape() == out.shape() &&
           x.impl()->storage == out.impl()->storage;
  };
  for (size_t later = c + 1; later < trace.calls.size(); ++later)
    for (const Tensor& x : trace.calls[later].inputs)
      if (is_it(x)) return x;
  return is_it(losses) ? losses : Tensor();
}

// (N, ...) -> (examples, N / examples, ...)
Tensor by_example(const Tensor& x, int64_t examples) {
  Shape shape = x.shape();
  shape[0] /= examples;
  shape.insert(0, examples);
  return x.reshape(shape);
}

// The result of a call, where `x` are its inputs as (examples, ...), each with as many dimensions as meet.
Tensor called(const TracedCall& call, const Vector& x, int64_t examples) {
  const auto scaled = [&x](Tensor y) {
    if (x[1].defined()) y = y * x[1];
    return x.size() > 2 && x[2].defined() ? y + x[2] : y;
  };
  const auto features = [&call] { return call.inputs[call.inputs[1].defined() ? 1 : 2].shape(); };
  if (call.op == "add") return x[0] + x[1];
  if (call.op == "sub") return x[0] - x[1];
  if (call.op == "mul") return x[0] * x[1];
  if (call.op == "div") return x[0] / x[1];
  if (call.op == "expand") return x[0].expand(by_example(call.outputs[0], examples).shape());
  if (call.op == "matmul") return matmul(x[0], x[1]);
  if (call.op == "linear") return matmul(x[0], x[1].mT()) + (x[2].defined() ? x[2] : zeros({}, x[0].dtype()));
  if (call.op == "layer_norm")
    return scaled(layer_norm(x[0], features(), {}, {}, std::get<double>(call.attributes[1])));
  if (call.op == "rms_norm")
    return scaled(rms_norm(x[0], features(), {}, std::get<double>(call.attributes[1])));
  if (call.op == "index_select" && std::get<int64_t>(call.attributes[0]) == 0) {
    // Row i of copy e is row e * rows + i of all copies.
    const int64_t rows = x[0].size(1);
    const Tensor first = arange(0, static_cast<double>(examples * rows), static_cast<double>(rows));
    const Tensor index = by_example(std::get<Tensor>(call.attributes[1]), examples) + first.unsqueeze(1);
    return index_select(x[0].flatten(0, 1), 0, index.flatten());
  }
  fail(kOp, "has no rule for parameters of ", call.op, ". Hint: take the gradients one by one.");
}

}  // namespace

Vector per_example_gradients(const ScalarFunction& losses, const Vector& parameters, const Vector& given) {
  if (given.empty() || given[0].dim() == 0 || given[0].size(0) == 0)
    fail(kOp, "needs tensors (examples, ...), got ", given.empty() ? "none" : concat(given[0].shape()), ".");
  const GradMode on(true);
  Vector batch;  // packed, as each example of it then is
  for (const Tensor& x : given) batch.push_back(x.contiguous());
  const int64_t examples = batch[0].size(0);
  const auto pull = [](const Vector& of, const Vector& to, const Tensor& v) {
    return grad(of, to, {.grad_outputs = {v}, .retain_graph = true, .allow_unused = true});
  };
  if (examples == 1) {  // A single example gets a copy beside it: shapes must tell what differs by example.
    Vector two;
    for (const Tensor& x : batch) two.push_back(cat({x, x}, 0));
    Vector gradients = per_example_gradients(losses, parameters, two);
    for (Tensor& g : gradients) g = g.slice(0, 0, 1);
    return gradients;
  }
  Trace all, single;
  const Tensor y = traced(all, losses, batch);
  Vector one;
  for (const Tensor& x : batch) one.push_back(x.slice(0, 0, 1));
  traced(single, losses, one);
  if (all.calls.size() != single.calls.size())
    fail(kOp, "one example must take the calls of several, got ", single.calls.size(), " for ",
         all.calls.size(), ".");

  // At a call that has a shared input and an input with a part for each example, each example gets a copy of
  // the shared one.
  Vector shared, copies, results, outputs;
  for (size_t c = 0; c < all.calls.size(); ++c) {
    const TracedCall& call = all.calls[c];
    if (!is_own(call.outputs[0], single.calls[c].outputs[0], examples)) continue;
    const Tensor out = recorded(all, c, y);
    if (!out.defined()) continue;
    Vector inputs;
    const size_t before = copies.size();
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      const Tensor& x = call.inputs[i];
      if (!x.defined() || is_own(x, single.calls[c].inputs[i], examples)) {
        inputs.push_back(x.defined() ? by_example(x.detach(), examples) : x);
        continue;
      }
      Shape shape = x.shape();
      shape.insert(0, examples);
      Tensor copy = x.detach().expand(shape);
      if (call.linked[i]) {
        shared.push_back(x);
        copies.push_back(copy.requires_grad_());
      }
      while (shape.size() <= out.dim()) shape.insert(1, 1);
      inputs.push_back(copy.reshape(shape));
    }
    if (copies.size() == before) continue;
    results.push_back(called(call, inputs, examples));
    outputs.push_back(out);
  }

  Vector gradients;
  for (const Tensor& p : parameters) {
    Shape shape = p.shape();
    shape.insert(0, examples);
    gradients.push_back(zeros(shape, p.dtype()));
  }
  if (copies.empty()) return gradients;
  Vector v = pull({y}, outputs, ones(y.shape(), y.dtype()));
  for (size_t i = 0; i < v.size(); ++i)
    v[i] = v[i].defined() ? v[i].reshape(results[i].shape()) : zeros(results[i].shape(), y.dtype());
  const Vector found = grad(results, copies, {.grad_outputs = v});
  for (size_t i = 0; i < found.size(); ++i) {
    const auto is_shared = [&](const Tensor& p) { return p.impl()->node == shared[i].impl()->node; };
    const auto p = std::find_if(parameters.begin(), parameters.end(), is_shared);
    if (p != parameters.end()) {
      Tensor& sum = gradients[static_cast<size_t>(p - parameters.begin())];
      sum = sum + found[i];
      continue;
    }
    for (int64_t e = 0; e < examples; ++e) {  // made of parameters: positions, a transposed matrix
      const Vector g = pull({shared[i]}, parameters, found[i].select(0, e));
      for (size_t k = 0; k < g.size(); ++k)
        if (g[k].defined()) gradients[k].select(0, e).copy_(gradients[k].select(0, e) + g[k]);
    }
  }
  return gradients;
}

}  // namespace gradus
