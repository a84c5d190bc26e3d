// A trained decoder as a GGUF file, which llama.cpp and all that stands on it open: keys, tokenizer and
// weights. Thread-safe: no state.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/train/decoder.hpp"

namespace gradus::exports {

/// How matrices may be stored: f32; f16; q8_0, in blocks of 32 with a scale. Vectors, and the positions of
/// GPT-2, stay float32; of q8_0, matrices whose rows are no whole blocks become f16.
std::vector<std::string> gguf_types();

/// Writes the file atomically: of architecture gpt2, llama, or, with norms of queries and keys, qwen3. `name`
/// is what programs call the model; `type` one of gguf_types(). Throws RunError if the disk refuses, Error if
/// a weight does not fit into the type.
void write_gguf(const train::TrainedModel& trained, const std::string& name, std::string_view type,
                const std::filesystem::path& path);

}  // namespace gradus::exports
