// `gradus info` of a file of tensors. Both functions print, and return the exit code. They throw Error,
// naming file and place, if the file cannot be read or is malformed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace gradus::cli {

/// Whether `path` is a file of tensors: any file that does not end in .gguf.
bool is_tensor_file(const std::string& path);
/// Name, dtype, shape and bytes of each tensor of a file (nn::open_tensors) or of the shards of an index; the
/// metadata, and the plain values of a checkpoint.
int info_of_tensors(const std::string& path);

/// Kind, keys and tensors of a GGUF file. Throws Error for --batch, for which the file has too little.
int info_of_gguf(const std::filesystem::path& file, std::optional<int64_t> batch);

}  // namespace gradus::cli
