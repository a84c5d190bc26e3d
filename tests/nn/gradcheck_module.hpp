// gradcheck of a module, orders 1 and 2, as one line of a test.
#pragma once

#include <type_traits>

#include "catch.hpp"
#include "gradus/nn/gradcheck_module.hpp"

namespace gradus::testing {

/// CHECKs the gradients of call(module, inputs), by default module(inputs[0]), for inputs and parameters.
template <class M>
void check_gradients(
    const M& module, const std::vector<Tensor>& inputs,
    const std::type_identity_t<std::function<Tensor(const M&, const std::vector<Tensor>&)>>& call =
        [](const M& m, const auto& in) { return m(in[0]); }) {
  CHECK(nn::gradcheck_module<M>(module, inputs, call).message == "");
}

}  // namespace gradus::testing
