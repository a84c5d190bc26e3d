// The precisions of matrix products in a training step: float32, and bf16 for Autocast(DType::bfloat16). The
// command line and the files of a run use these names. Thread-safe: no state.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gradus/autograd/tensor/dtype.hpp"

namespace gradus::train {

std::vector<std::string> precision_names();  ///< float32, bf16

/// The dtype of a precision. Throws Error for an unknown name.
DType precision_from(std::string_view name);

/// The name of a precision. Throws Error for another dtype.
std::string word(DType dtype);

}  // namespace gradus::train
