// gradcheck of a whole module, with respect to its inputs and its parameters.
//
//   nn::Linear layer(3, 4, g);
//   CHECK(gradcheck_module(layer, {x}, [](const nn::Linear& f, const auto& in) { return f(in[0]); }).passed);
//
// Thread-safe: works on a copy of the module, whose parameters become float64.
#pragma once

#include <type_traits>
#include <vector>

#include "gradus/autograd/gradcheck/gradcheck.hpp"
#include "gradus/nn/module.hpp"

namespace gradus::nn {

/// gradcheck of call(module, inputs) with respect to the floating `inputs` (float64) and all parameters,
/// which the report counts after the inputs. If the module has dropout, `call` must make the generator.
/// Throws as gradcheck does.
template <class M, class Call>
GradcheckReport gradcheck_module(const M& module, const std::vector<Tensor>& inputs, const Call& call,
                                 const GradcheckOptions& options = {.order = 2}) {
  static_assert(std::is_invocable_v<const Call&, const M&, const std::vector<Tensor>&>,
                "call must take (const M& module, const std::vector<Tensor>& inputs)");
  M copy = deep_copy(module);
  copy.to(DType::float64);
  std::vector<Tensor> all;
  for (const Tensor& x : inputs) all.push_back(x.detach());
  GradcheckOptions named = options;
  for (size_t i = named.names.size(); i < inputs.size(); ++i) named.names.push_back(concat("input ", i));
  for (const auto& [name, parameter] : copy.named_parameters()) {
    all.push_back(parameter.detach());
    named.names.push_back(name);
  }
  const GradcheckFunction f = [&](const std::vector<Tensor>& values) {
    M replaced = copy;
    detail::replace_tensors(replaced,
                            [&, next = inputs.size()](const Tensor& old, bool is_parameter) mutable {
                              return is_parameter ? values.at(next++) : old;
                            });
    return call(replaced, std::vector<Tensor>(values.begin(), values.begin() + std::ssize(inputs)));
  };
  return gradcheck(f, all, named);
}

}  // namespace gradus::nn
