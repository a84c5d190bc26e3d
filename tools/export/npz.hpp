// A trained decoder's weights for NumPy: numpy.load(path) gives each array by Hugging Face's name, float32
// and in the shape that model.safetensors has it.
//
// An .npz is a zip archive, here without compression, of one .npy file an array (numpy.lib.format, version
// 1.0). Thread-safe: no state.
#pragma once

#include <filesystem>

#include "gradus/train/decoder.hpp"

namespace gradus::exports {

/// Writes the file atomically. Throws Error if it would be larger than 4 GiB, which a zip archive cannot be
/// without an extension that not all readers know; RunError if the disk refuses.
void write_npz(const train::TrainedModel& trained, const std::filesystem::path& path);

}  // namespace gradus::exports
