// gradcheck of a module as one line of a test: the message of a failed check, empty if it passed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gradus/nn/gradcheck_module.hpp"

namespace gradus::testing {

template <class M>
std::string gradcheck_module(M& module, const std::vector<Tensor>& inputs,
                             const std::function<Tensor(const M&, const std::vector<Tensor>&)>& call,
                             int order) {
  return nn::gradcheck_module<M>(module, inputs, call, {.order = order}).message;
}

}  // namespace gradus::testing
