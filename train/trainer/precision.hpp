// The precisions that matrix products of a training step can have, by the names that the command line and the
// files of a run use: float32, and bf16 for Autocast(DType::bfloat16). Thread-safe: no state.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gradus/autograd/tensor/dtype.hpp"

namespace gradus::train {

std::vector<std::string> precision_names();  ///< float32, bf16

/// The dtype that a name stands for. Throws Error for another one.
DType precision_from(std::string_view name);

/// The name of a precision. Throws Error for a dtype that is none.
std::string precision_name(DType dtype);

}  // namespace gradus::train
