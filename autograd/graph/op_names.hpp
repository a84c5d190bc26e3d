// The names of the library's ops.
#pragma once

#include <array>
#include <string_view>

namespace gradus {

/// The closed list of ops in graphs: each has a gradient rule. Recording another name does not compile, and
/// the gradient-check suite fails for a name that has no case. operations.def has their rows.
inline constexpr auto kRecordedOps = std::to_array<std::string_view>({
#define GRADUS_OPERATION(name, ...) #name,
#include "gradus/autograd/graph/operations.def"
});

/// Ops composed of recorded ops; they have gradient-check cases too.
inline constexpr auto kComposedOps = std::to_array<std::string_view>({
#define GRADUS_COMPOSED(name, ...) #name,
#include "gradus/autograd/graph/operations.def"
});

}  // namespace gradus
