// Are values finite? Thread-safe: no state.
#pragma once

#include <string>

#include "gradus/nn/module.hpp"

namespace gradus::train {

/// The name of the first tensor with a value that is not finite, and "" if there is none.
std::string first_not_finite(const nn::StateDict& tensors);

}  // namespace gradus::train
