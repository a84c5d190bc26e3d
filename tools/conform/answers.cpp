#include "gradus/tools/conform/answers.hpp"

#include <algorithm>

#include "gradus/autograd/backward.hpp"
#include "gradus/autograd/ops.hpp"

namespace gradus::tools::conformance {
namespace {

Tensors made(const std::vector<Written>& written) {
  Tensors tensors;
  for (const Written& w : written) tensors.push_back(w.make());
  return tensors;
}

Tensors by_input(const Case& c, const std::map<std::string, Written>& written) {
  Tensors tensors;
  for (const Written& input : c.inputs) {
    const auto found = written.find(input.name);
    tensors.push_back(found == written.end() ? Tensor() : found->second.make());
  }
  return tensors;
}

Tensor or_zeros(const Tensor& gradient, const Tensor& x) {
  return gradient.defined() ? gradient : zeros(x.shape(), x.dtype());
}

/// The inputs of a case as leaves of the graph.
class Leaves {
 public:
  Leaves(const Case& c, const Tensors& inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      all_.push_back(inputs[i].detach());
      if (c.inputs[i].requires_grad) with_gradient_.push_back(all_.back().requires_grad_());
    }
  }

  const Tensors& all() const { return all_; }
  const Tensors& with_gradient() const { return with_gradient_; }
  /// From one a leaf with a gradient to one an input.
  Tensors by_input(const Tensors& gradients) const {
    Tensors result(all_.size());
    size_t next = 0;
    for (size_t i = 0; i < all_.size(); ++i)
      if (all_[i].requires_grad()) result[i] = gradients[next++];
    return result;
  }

 private:
  Tensors all_, with_gradient_;
};

}  // namespace

Given given_by(const Case& c) {
  return {made(c.inputs), made(c.cotangents), c.grad2 ? by_input(c, c.grad2->v) : Tensors()};
}

std::vector<Tensor> run_operation(const Case& c, const std::vector<Tensor>& inputs) {
  Inputs named;
  for (size_t i = 0; i < inputs.size(); ++i) named.emplace_back(c.inputs[i].name, inputs[i]);
  return tools::run_operation(c.op, named, c.arguments);
}

Answers written_answers(const Case& c) {
  Answers a;
  a.outputs = made(c.outputs);
  a.grads = a.recorded_grads = by_input(c, c.grads);
  if (!c.grad2) return a;
  a.grad2 = by_input(c, c.grad2->grads);
  for (const auto& cotangent : c.grad2->cotangents)
    a.grad2_cotangents.push_back(cotangent ? cotangent->make() : Tensor());
  return a;
}

Answers our_answers(const Case& c, const Given& given) {
  const Leaves leaves(c, given.inputs);
  Answers a;
  a.outputs = run_operation(c, leaves.all());

  const auto floating = std::count_if(a.outputs.begin(), a.outputs.end(),
                                      [](const Tensor& y) { return is_floating(y.dtype()); });
  if (static_cast<size_t>(floating) != given.cotangents.size())
    fail("conform", "there must be a cotangent for each of ", floating, " floating outputs, got ",
         given.cotangents.size(), ".");

  Tensors attached, cotangents, all_cotangents;
  for (const Tensor& y : a.outputs) {
    if (!is_floating(y.dtype())) continue;
    all_cotangents.push_back(given.cotangents[all_cotangents.size()].detach().requires_grad_());
    if (!y.requires_grad()) continue;
    attached.push_back(y);
    cotangents.push_back(all_cotangents.back());
  }
  if (attached.empty()) return a;
  a.grads = leaves.by_input(
      grad(attached, leaves.with_gradient(),
           {.grad_outputs = cotangents, .retain_graph = c.grad2.has_value(), .allow_unused = true}));
  if (!c.grad2) return a;
  a.recorded_grads =
      leaves.by_input(grad(attached, leaves.with_gradient(),
                           {.grad_outputs = cotangents, .create_graph = true, .allow_unused = true}));

  Tensors gradients, v;
  for (size_t i = 0; i < given.v.size(); ++i) {
    const Tensor& gradient = a.recorded_grads[i];
    if (!given.v[i].defined() || !gradient.defined() || !gradient.requires_grad()) continue;
    gradients.push_back(gradient);
    v.push_back(given.v[i]);
  }
  Tensors wanted = leaves.with_gradient();
  wanted.insert(wanted.end(), all_cotangents.begin(), all_cotangents.end());
  Tensors second(wanted.size());
  if (!gradients.empty()) second = grad(gradients, wanted, {.grad_outputs = v, .allow_unused = true});
  for (size_t i = 0; i < wanted.size(); ++i) second[i] = or_zeros(second[i], wanted[i]);
  a.grad2 = leaves.by_input(second);
  a.grad2_cotangents.assign(second.end() - static_cast<std::ptrdiff_t>(all_cotangents.size()), second.end());
  return a;
}

}  // namespace gradus::tools::conformance
