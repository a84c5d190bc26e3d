// The decoder as a model to train: its recipe, its files, and what is read back from them. Thread-safe: no
// state.
#pragma once

#include <filesystem>
#include <vector>

#include "gradus/data/tokenizer.hpp"
#include "gradus/models/decoder.hpp"
#include "gradus/train/run_folder/run_folder.hpp"
#include "gradus/train/train_config.hpp"

namespace gradus::train {

/// Mean cross-entropy, nats a token. Borrows the model.
Loss decoder_loss(const models::Decoder& model);

/// How the decoder learns as `config` says, from the windows that `source` draws. Borrows the model. Throws
/// Error if the config is not valid.
Recipe decoder_recipe(const models::Decoder& model, BatchSource source, const TrainConfig& config);

/// The layout of Hugging Face's GPT-2 or Llama, with the flags and the tokenizer beside it. Borrows the
/// model.
ModelFiles decoder_files(const models::Decoder& model, const TrainConfig& config,
                         const data::Tokenizer& tokenizer);

/// Windows in a batch for evaluation: a cost in memory, not in meaning, so it does not depend on the batch
/// trained on.
int64_t evaluation_batch(const models::DecoderConfig& config);
/// Nats a token, over all targets of all batches. As mean_loss() of any model.
double mean_loss(models::Decoder& model, const std::vector<data::Batch>& batches);

// Of a run, newest state. These throw Error, naming the file, if it is missing or damaged.
TrainConfig load_config(const RunFolder& run);          ///< from last/, else from the folder itself
data::Tokenizer load_tokenizer(const RunFolder& run);   ///< from last/, see data/tokenizer.hpp
models::Decoder load_last_model(const RunFolder& run);  ///< from last/config.json and last/model.safetensors

/// A model and its tokenizer, out of a folder that another process may be writing.
struct TrainedModel {
  models::Decoder model;      ///< in training mode, without the rows of a padded vocabulary
  data::Tokenizer tokenizer;  ///< of the model's vocabulary
};
/// The tokenizer is the folder's, or that of the path `tokenizer` (data::load_tokenizer) if it is not empty.
/// Throws Error, naming the file, if one is missing or damaged, or the two do not fit.
TrainedModel load_trained(const std::filesystem::path& folder, const std::filesystem::path& tokenizer = {});

/// The tokenizer alone. Throws Error if there is none or it does not fit the model's config.json: has as many
/// tokens, or all but those that pad a vocabulary of byte pairs (models::is_padded_vocabulary).
data::Tokenizer load_tokenizer(const std::filesystem::path& folder,
                               const std::filesystem::path& tokenizer = {});

}  // namespace gradus::train
