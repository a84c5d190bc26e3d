// A decoder in a folder, config.json and model.safetensors, in the layout of Hugging Face's transformers for
// GPT-2, where the four matrices of each block are stored (in, out), and for Llama and Qwen3. A folder with a
// list of checksums (files/checksums.hpp), as run folders have one, is checked against it.
//
// Also read are shards with an index (nn/safetensors_folder.hpp), the layouts of nanoGPT and of the book
// Build a Large Language Model (foreign_gpt2.hpp), and float16, bfloat16 or float64.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "gradus/files/folder.hpp"
#include "gradus/models/decoder.hpp"

namespace gradus::models {

/// Writes both files, each atomically; the folder is made if need be. Throws RunError if the disk refuses.
void save_pretrained(const Decoder& model, const std::filesystem::path& folder);
/// The same within an update of a folder that is there.
void save_pretrained(const Decoder& model, files::FolderUpdate& update);

/// The tensors that save_pretrained writes, float32: the parameters by their names in files, transposed where
/// files have them so, and zeros for the biases that a GPT-2 lacks.
nn::StateDict stored_state(const Decoder& model);
/// The same by the names of the parameters, matrices as (out, in), all contiguous.
nn::StateDict linear_weights(const Decoder& model);

/// The parameters of such a model with the shapes that save_pretrained writes.
nn::NamedShapes stored_shapes(const DecoderConfig& config);

/// Reads config.json alone. Throws Error, naming the file, if it cannot be read or describes a model of no
/// known architecture.
DecoderConfig load_config(const std::filesystem::path& folder);
DecoderConfig load_config(const files::FolderSnapshot& folder);

/// The version of gradus that wrote the folder's config.json; empty if another program did.
std::string written_by(const std::filesystem::path& folder);

/// Reads config.json and the names and shapes of model.safetensors. Throws Error, naming the file, if one is
/// malformed or they do not describe one model; takes no more memory than the files themselves.
DecoderConfig check_pretrained(const std::filesystem::path& folder);

/// Does the same, then reads the values into a new model, float32 and in training mode. Names may have the
/// prefix `transformer.`; stored attention masks and rotary frequencies are ignored; an lm_head.weight that
/// is tied may be there if it equals the token embedding; rows of a padded vocabulary are left out. Throws
/// Error, naming the file, for anything else that does not fit: all names that are missing, not expected or
/// of another shape in one message.
Decoder load_pretrained(const std::filesystem::path& folder);
Decoder load_pretrained(const files::FolderSnapshot& folder);
/// The same for a model of the config `as`, which may have less than the folder's: a vocab_size without
/// padding, and a shorter block_size (any, if positions are not learned). Dropout is that of `as`. Throws
/// Error too if `as` differs in anything else.
Decoder load_pretrained(const files::FolderSnapshot& folder, const DecoderConfig& as);

/// Whether a vocabulary of so many rows is one of so many tokens that was filled up for the sake of speed,
/// as GPT-2's 50,257 are to 50,304: to a multiple of 64, by fewer than 1024 rows. Such rows stand for no
/// token and are never sampled.
bool is_padded_vocabulary(int64_t rows, int64_t tokens);

}  // namespace gradus::models
