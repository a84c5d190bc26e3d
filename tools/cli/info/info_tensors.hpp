// gradus info FILE: what lies in a safetensors file, or in the shards of an index. Thread-safe: no state.
#pragma once

#include <string>

namespace gradus::cli {

/// Whether `info` of this path is about tensors: any file but a .gguf, no folder.
bool is_tensor_file(const std::string& path);

/// Prints name, dtype, shape and bytes of each tensor, and the metadata. Returns the exit code. Throws Error
/// if the file, or a shard that an index names, cannot be read or is malformed.
int info_of_tensors(const std::string& path);

}  // namespace gradus::cli
