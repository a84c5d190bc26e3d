// The operations that files of cases may name, with PyTorch's names.
#pragma once

#include "gradus/tools/cases/signature.hpp"

namespace gradus::cases {

/// All operations.
const std::vector<Operation>& operations();
/// Those of them that move windows over images, and the norms of channels.
std::vector<Operation> window_operations();
/// Null if there is no operation with this name.
const Operation* find_operation(std::string_view name);

}  // namespace gradus::cases
