// A GPT in a folder of the layout that Hugging Face's transformers reads and writes for GPT-2, where the four
// matrices of each block are stored [in, out], and for Llama or Qwen3: config.json and model.safetensors.
// A folder with a list of checksums (files/checksums.hpp), as run folders have one, is checked against it.
//
// A GPT-2 without biases is stored with zeros for them and "gradus_bias": false in config.json, so that
// others can read it and it comes back as it was.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "gradus/files/folder_snapshot.hpp"
#include "gradus/files/folder_update.hpp"
#include "gradus/models/gpt.hpp"

namespace gradus::models {

/// Writes both files, each atomically; the folder is made if need be. Throws RunError if the disk refuses.
void save_pretrained(const GPT& model, const std::filesystem::path& folder);
/// The same within an update of a folder that is there.
void save_pretrained(const GPT& model, files::FolderUpdate& update);

/// What save_pretrained writes, float32: the parameters by their names, transposed where that is how they are
/// stored, and zeros for the biases that a GPT-2 lacks.
nn::StateDict stored_state(const GPT& model);

/// Whether the matrix of that name is stored transposed: transformers' Conv1D keeps it (in, out), our Linear
/// (out, in).
bool is_stored_transposed(std::string_view name);
/// The shape in which save_pretrained stores the parameter of that name.
Shape stored_shape(std::string_view name, const Shape& shape);

/// Reads config.json alone. Throws Error, naming the file, if it cannot be read or describes a model that GPT
/// is not.
GPTConfig load_config(const std::filesystem::path& folder);
GPTConfig load_config(const files::FolderSnapshot& folder);

/// The version of gradus that wrote the folder's config.json; empty if another program did.
std::string written_by(const std::filesystem::path& folder);

/// Reads config.json and the names and shapes of model.safetensors. Throws Error, naming the file, if one is
/// malformed or they do not describe one model; takes no more memory than the files themselves.
GPTConfig check_pretrained(const std::filesystem::path& folder);

/// Does the same, then reads the values into a new model, float32 and in training mode. Accepts GPT-2's names
/// with the prefix `transformer.`, ignores stored attention masks and rotary frequencies, and takes an
/// lm_head.weight that is tied if it equals the token embedding. Throws Error, naming the file, for anything
/// else that does not fit.
GPT load_pretrained(const std::filesystem::path& folder);
GPT load_pretrained(const files::FolderSnapshot& folder);

}  // namespace gradus::models
