// Training of the decoder: its recipe, its files, and functions that read them. Thread-safe: no state.
#pragma once

#include <filesystem>
#include <vector>

#include "gradus/data/tokenizer.hpp"
#include "gradus/models/decoder.hpp"
#include "gradus/train/run_folder/run_folder.hpp"
#include "gradus/train/train_config.hpp"

namespace gradus::train {

/// Mean cross-entropy, nats per token. Borrows the model.
Loss decoder_loss(const models::Decoder& model);
/// The same in evaluations; in training the loss with config.teacher, if there is one. Throws Error, naming
/// the file, if the teacher cannot be read, or if it does not fit the model.
Loss training_loss(const models::Decoder& model, const TrainConfig& config);

/// The windows that config.windows names, of the training split. Borrows the dataset.
BatchSource training_batches(const data::TextDataset& dataset, const TrainConfig& config);
/// The recipe of `config`, with the windows that `source` draws. Borrows the model. Throws Error if the
/// config is not valid.
Recipe decoder_recipe(const models::Decoder& model, BatchSource source, const TrainConfig& config);

/// The layout of Hugging Face's GPT-2 or Llama, with the settings and the tokenizer. Borrows the model.
ModelFiles decoder_files(const models::Decoder& model, const TrainConfig& config,
                         const data::Tokenizer& tokenizer);

/// Windows in a batch for evaluation. They affect memory, not the result.
int64_t evaluation_batch(const models::DecoderConfig& config);
/// Nats per token, over all targets of all batches; see mean_loss() of trainer.hpp.
double mean_loss(models::Decoder& model, const std::vector<data::Batch>& batches);

// These read the newest state of a run. They throw Error, naming the file, if it is missing or damaged.
TrainConfig load_config(const RunFolder& run);          ///< from last/, else from the folder itself
data::Tokenizer load_tokenizer(const RunFolder& run);   ///< from last/, see data/tokenizer.hpp
models::Decoder load_last_model(const RunFolder& run);  ///< from last/config.json and last/model.safetensors

/// A model and its tokenizer, read from a folder that another process may be writing.
struct TrainedModel {
  models::Decoder model;      ///< in training mode, without the rows of a padded vocabulary
  data::Tokenizer tokenizer;  ///< of the model's vocabulary
};
/// Reads the tokenizer of the folder, or of the path `tokenizer` (data::load_tokenizer) if it is not empty.
/// An adapter's updates are added to the weights: that of the folder, or that of the folder `adapter`.
/// Throws Error, naming the file, if one is missing or damaged, or if they do not fit together.
TrainedModel load_trained(const std::filesystem::path& folder, const std::filesystem::path& tokenizer = {},
                          const std::filesystem::path& adapter = {});

/// Reads the tokenizer alone. Throws Error if there is none, or if it has more tokens than the model's
/// config.json; rows of the model without a token are padding, and are never sampled. Special tokens for
/// which the model has no rows are left out.
data::Tokenizer load_tokenizer(const std::filesystem::path& folder,
                               const std::filesystem::path& tokenizer = {});

}  // namespace gradus::train
