// Writes a trained decoder in the formats of other programs. Thread-safe: no state.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gradus/train/decoder.hpp"

namespace gradus::exports {

/// The types of matrices in GGUF: f32; f16; q8_0, in blocks of 32 with a scale. Vectors, and the positions of
/// GPT-2, stay float32; with q8_0, matrices whose rows are not complete blocks become f16.
std::vector<std::string> gguf_types();

/// Writes a GGUF file for llama.cpp, atomically. The architecture is gpt2, llama, gemma3, or, with norms of
/// queries and keys, qwen3. `name` is the model's name in the file; `type` is one of gguf_types(). Throws
/// RunError if the disk refuses, Error if a weight does not fit into the type.
void write_gguf(const train::TrainedModel& trained, const std::string& name, std::string_view type,
                const std::filesystem::path& path);

/// Writes the adapters of a model (nn::LoRA) as a GGUF file, which llama.cpp adds to the base model with
/// --lora. Throws as above.
void write_gguf_adapter(const train::TrainedModel& trained, const std::string& name,
                        const std::filesystem::path& path);

/// Writes the weights for NumPy, atomically: numpy.load(path) gives each array by Hugging Face's name,
/// float32 and in the shape that model.safetensors has it. The file is a zip archive without compression with
/// one .npy file per array (numpy.lib.format, version 1.0). Throws Error if it would be larger than 4 GiB,
/// which needs an extension of zip that not all readers support; RunError if the disk refuses.
void write_npz(const train::TrainedModel& trained, const std::filesystem::path& path);

/// Arrays by name.
using Arrays = std::vector<std::pair<std::string, Tensor>>;
/// Writes the arrays in the same way, float32 and int64 as they are and other floats as float32. Throws as
/// above.
void write_npz(const Arrays& arrays, const std::filesystem::path& path);

/// Writes files for PyTorch into an existing folder. Throws RunError if the disk refuses.
///   model.py, tokenizer.py, sample.py, check.py   the model in Python; need PyTorch 1.13 and nothing else
///   model.safetensors, config.json, vocab.json,
///   merges.txt, tokenizer.json,
///   tokenizer_config.json                         as in a run folder
///   check.safetensors, check.json                 tokens with gradus's logits, a text with its tokens
void write_pytorch(const train::TrainedModel& trained, const std::filesystem::path& folder);

/// Writes a page that generates text in any browser into an existing folder. `name` is the page's title. The
/// data are scripts because a page opened from a disk may load no other files. Throws RunError if the disk
/// refuses.
///   index.html     the page, with its style and its scripts (web/)
///   model-data.js  config, tokenizer, names and shapes
///   weights-N.js   the weights, float32 in base64, in files of about 32 MB
void write_web(const train::TrainedModel& trained, const std::string& name,
               const std::filesystem::path& folder);

}  // namespace gradus::exports
