// Writes a trained decoder in the formats of other programs. Thread-safe: no state.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/train/decoder.hpp"

namespace gradus::exports {

/// The text of a file of this annex: "export/web/page.js". Throws std::out_of_range if there is none.
std::string_view embedded_file(std::string_view path);

/// The types of matrices in GGUF: f32; f16; q8_0, in blocks of 32 with a scale. Vectors, and the positions of
/// GPT-2, stay float32; with q8_0, matrices whose rows are not complete blocks become f16.
std::vector<std::string> gguf_types();

/// Writes a GGUF file for llama.cpp, atomically. The architecture is gpt2, llama, gemma3, or, with norms of
/// queries and keys, qwen3. `name` is the model's name in the file; `type` is one of gguf_types(). Throws
/// RunError if the disk refuses, Error if a weight does not fit into the type.
void write_gguf(const train::TrainedModel& trained, const std::string& name, std::string_view type,
                const std::filesystem::path& path);

/// Writes the adapters of a model (nn::LoRA) as a GGUF file, for llama.cpp's --lora. Throws as above.
void write_gguf_adapter(const train::TrainedModel& trained, const std::string& name,
                        const std::filesystem::path& path);

/// Writes a page that generates text in any browser into an existing folder. `name` is the page's title. The
/// data are scripts because a page opened from a disk may load no other files. Throws RunError if the disk
/// refuses.
///   index.html     the page, with its style and its scripts (web/)
///   model-data.js  config, tokenizer, names and shapes
///   weights-N.js   the weights, float32 in base64, in files of about 32 MB
void write_web(const train::TrainedModel& trained, const std::string& name,
               const std::filesystem::path& folder);

}  // namespace gradus::exports
