// `gradus info` of a file of tensors.
#pragma once

#include <string>

namespace gradus::cli {

/// Prints name, dtype, shape and bytes of each tensor of a file (nn::open_tensors, GGUF) or of the shards of
/// an index; the metadata, the keys of GGUF, and the plain values of a checkpoint. Returns the exit code.
/// Throws Error, naming file and place, if the file cannot be read or is malformed.
int info_of_file(const std::string& path);

}  // namespace gradus::cli
