// Decoders in folders with config.json and model.safetensors, in the layout of Hugging Face's transformers
// for GPT-2 (whose four matrices per block are stored as (in, out)), Llama, Mistral, Qwen and Gemma 3. If a
// folder has a list of checksums, as run folders do, its files are compared with it.
//
// Loading also supports shards with an index, the layouts of nanoGPT and of the book Build a Large Language
// Model (gpt2.cpp), float16, bfloat16 and float64, and the other formats of nn::open_tensors(). In place of a
// folder, all loading functions take a file in it: its tensors are then the model's. A checkpoint of nanoGPT
// or the book needs no config.json.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "gradus/models/decoder.hpp"

namespace gradus::files {
class FolderSnapshot;
class FolderUpdate;
}  // namespace gradus::files

namespace gradus::models {

/// Writes both files, each atomically; makes the folder if it is missing. Throws RunError if writing fails.
void save_pretrained(const Decoder& model, const std::filesystem::path& folder);
/// The same as part of an update of a folder.
void save_pretrained(const Decoder& model, files::FolderUpdate& update);

/// Writes the config.json of an ensemble, whose members are models in these subfolders. All functions below
/// that read a folder read an ensemble too.
void save_ensemble(const std::vector<std::string>& members, files::FolderUpdate& update);

/// The tensors that save_pretrained writes, float32: the parameters by their names in files, transposed if
/// files have them transposed, and zeros for the biases that a GPT-2 lacks.
nn::StateDict stored_state(const Decoder& model);
/// The same by the names of the parameters, matrices as (out, in), all contiguous.
nn::StateDict linear_weights(const Decoder& model);

/// The names of a model's parameters, with the shapes that save_pretrained writes.
nn::NamedShapes stored_shapes(const DecoderConfig& config);

/// Reads config.json only. Throws Error, naming the file, if it cannot be read or used.
DecoderConfig load_config(const std::filesystem::path& folder);
DecoderConfig load_config(const files::FolderSnapshot& folder);

/// The CRC-32 of the values of the parameters as float32, in the order of their names, by which an adapter
/// knows its base: the same for every format of the files. `base` is a folder or a file.
std::string weights_checksum(const std::filesystem::path& base);

/// The version of gradus that wrote the folder's config.json; empty if another program did.
std::string written_by(const std::filesystem::path& folder);

/// Reads config.json and the names and shapes of model.safetensors. Throws Error, naming the file, if one is
/// malformed or they do not fit together.
DecoderConfig check_pretrained(const std::filesystem::path& folder);

/// Does the same, then reads the values into a new model, float32 and in training mode. Names may have the
/// prefix `transformer.` and those of PyTorch's wrappers, such as `_orig_mod.module.`. Ignores stored
/// attention masks, rotary frequencies, rows that fill the vocabulary up, and a tied lm_head.weight that
/// equals the token embedding. Throws Error, naming the file, for anything else that does not fit, or a
/// parameter that is not finite; one message lists all names that are missing, unexpected or of another
/// shape.
Decoder load_pretrained(const std::filesystem::path& folder);
Decoder load_pretrained(const files::FolderSnapshot& folder);
/// The same for a model of config `as`, which may differ from the folder's in dropout, a vocab_size without
/// padding rows (any number of rows after those of the tokens), and a smaller block_size (any, if positions
/// are not learned). Also throws Error if `as` differs in another field. The matrices of one model get the
/// dtype `matrices`, one after another; in another one than float32 they have no gradients (see
/// nn::Module::to). If the folder has an adapter and no model, its updates are added to the weights of its
/// base (adapter.hpp). The matrices of the sum, and of ensembles, are float32.
Decoder load_pretrained(const files::FolderSnapshot& folder, const DecoderConfig& as,
                        DType matrices = DType::float32);

/// The model of the folder `base`, loaded as by load_pretrained(), with the adapters of another folder
/// (adapter.hpp).
Decoder load_with_adapter(const std::filesystem::path& base, const files::FolderSnapshot& adapter,
                          const DecoderConfig& as, DType matrices = DType::float32);

}  // namespace gradus::models
