// gguf files for `gradus info`: what one says of itself.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace gradus::cli {

/// Prints kind, keys and tensors of a GGUF file, anybody's, and returns the exit code. Throws Error, naming
/// file and place, if it is malformed; and if --batch came too, for which such a file says too little.
int info_of_gguf(const std::filesystem::path& file, std::optional<int64_t> batch);

}  // namespace gradus::cli
