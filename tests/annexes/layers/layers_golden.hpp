// Compares a layer with what PyTorch computed in float64; make_layers_golden.py wrote the numbers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autograd/compare.hpp"
#include "catch.hpp"
#include "gradus/autograd/engine/backward.hpp"
#include "gradus/nn/module.hpp"
#include "gradus/nn/safetensors.hpp"
#include "nn/gradcheck_module.hpp"
#include "test_files.hpp"

namespace gradus::testing {

using Tensors = std::vector<Tensor>;

inline Generator golden_generator() { return Generator::torch(7); }

/// Compares names and initial values (to the bit), results, gradients of two orders and 20 steps of SGD, and
/// runs gradcheck. call(module, inputs) returns the results.
template <class M>
void check_golden(const std::string& name, M module,
                  const std::function<Tensors(const M&, const Tensors&)>& call) {
  INFO(name);
  static const nn::StateDict all =
      nn::load_safetensors(test_files() / "annexes/layers/golden/layers.safetensors", /*keep_float64=*/true);
  const auto stored = [&](const std::string& what) { return all.at(name + "." + what); };
  const auto numbered = [&](const std::string& what) {
    Tensors list;
    for (int i = 0; all.contains(concat(name, ".", what, ".", i)); ++i)
      list.push_back(stored(concat(what, ".", i)));
    return list;
  };

  size_t parameters = 0;
  for (const auto& entry : all) parameters += entry.first.starts_with(name + ".init.");
  CHECK(module.named_parameters().size() == parameters);
  for (const auto& [key, parameter] : module.named_parameters()) {
    INFO(key);
    CHECK(difference(parameter.detach(), stored("init." + key), 0) == "");
  }
  module.to(DType::float64);

  Tensors inputs = numbered("in");
  const Tensors targets = numbered("target"), outputs = numbered("out");
  const auto loss_of = [&] {
    Tensor loss = zeros({}, DType::float64);
    const Tensors results = call(module, inputs);
    REQUIRE(results.size() == targets.size());
    for (size_t i = 0; i < results.size(); ++i) loss = loss + mse_loss(results[i], targets[i]);
    return loss;
  };
  const Tensors results = call(module, inputs);
  for (size_t i = 0; i < outputs.size(); ++i) CHECK(difference(results.at(i).detach(), outputs[i]) == "");

  std::vector<std::string> names;
  Tensors leaves;
  for (size_t i = 0; i < inputs.size(); ++i) {
    names.push_back(std::to_string(i));
    leaves.push_back(inputs[i].requires_grad_());
  }
  for (const auto& [key, parameter] : module.named_parameters()) {
    names.push_back(key);
    leaves.push_back(parameter);
  }
  const Tensors plain = grad({loss_of()}, leaves);
  const Tensors first = grad({loss_of()}, leaves, {.create_graph = true});
  Tensor norm = zeros({}, DType::float64);
  for (const Tensor& g : first) norm = norm + sum(g * g);
  const Tensors second = grad({norm}, leaves);
  for (size_t i = 0; i < names.size(); ++i) {
    INFO(names[i]);
    CHECK(difference(plain[i], stored("grad." + names[i])) == "");
    CHECK(difference(first[i].detach(), stored("grad." + names[i])) == "");
    CHECK(difference(second[i], stored("second." + names[i]), 1e-11) == "");
  }
  for (Tensor& x : inputs) x = x.detach();

  const auto squares_of = [&](const M& m, const Tensors& in) {
    Tensor total = zeros({}, DType::float64);
    for (const Tensor& y : call(m, {in.begin(), in.begin() + static_cast<int64_t>(inputs.size())}))
      total = total + sum(y * y);
    return total;
  };
  check_gradients(module, inputs, squares_of);

  const std::vector<double> losses = stored("losses").template to_vector<double>();
  for (const double expected : losses) {
    module.zero_grad();
    const Tensor loss = loss_of();
    CHECK(std::abs(loss.item() - expected) <= 1e-10);
    loss.backward();
    for (Tensor& p : module.parameters()) p.copy_(p.detach() - 0.2 * p.grad());
  }
}

}  // namespace gradus::testing
