// gradcheck of a module: with respect to its input and to every parameter.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gradus/autograd/gradcheck.hpp"
#include "gradus/nn/module.hpp"

namespace gradus::testing {

/// Puts the given tensors in the place of a module's parameters, in the order of named_parameters().
class Replace : public nn::Visitor {
 public:
  Replace(const std::vector<Tensor>& values, size_t first) : values_(values), next_(first) {}

 private:
  void on_parameter(const std::string&, Tensor& parameter) override { parameter = values_.at(next_++); }
  const std::vector<Tensor>& values_;
  size_t next_;
};

/// The message of a failed check, empty if it passed. `module` is converted to float64; `extra` inputs
/// (float64) come before the parameters and are what `call` is given.
template <class M>
std::string gradcheck_module(M& module, const std::vector<Tensor>& extra,
                             const std::function<Tensor(const M&, const std::vector<Tensor>&)>& call,
                             int order) {
  module.to(DType::float64);
  std::vector<Tensor> inputs = extra;
  for (const Tensor& parameter : module.parameters()) inputs.push_back(parameter.detach());
  const GradcheckFunction f = [&](const std::vector<Tensor>& values) {
    M replaced = module;
    Replace(values, extra.size()).start(replaced);
    return call(replaced, values);
  };
  return gradcheck(f, inputs, {.order = order}).message;
}

}  // namespace gradus::testing
