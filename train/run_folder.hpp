// RunFolder: what a training run leaves on disk, in open formats.
//
//   config.json, model.safetensors   the best model so far, as Hugging Face's transformers reads GPT-2
//   vocab.json                       the tokenizer
//   train.json                       every flag of the run
//   metrics.jsonl                    a line for each step and evaluation
//   last/                            the newest state, to resume from: a folder for `gradus sample` as well,
//   with
//     optimizer.safetensors          the optimizer's moments
//     trainer.json                   step, best loss, streams of random numbers, checksum of the text
//
// Files appear under their names only when they are whole, and last/ only when all of its files are: a crash
// at any moment leaves something to resume from. Not thread-safe; one run at a time may write to a folder.
#pragma once

#include <filesystem>
#include <string>

#include "gradus/data/tokenizer.hpp"
#include "gradus/train/checkpoint.hpp"

namespace gradus::train {

class RunFolder {
 public:
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}
  const std::filesystem::path& path() const { return path_; }

  /// Throws Error unless the folder is absent or empty, or holds a run that may be overwritten. Changes
  /// nothing.
  void check_free(bool overwrite) const;
  /// Makes the folder, without what an earlier run left in it; other files stay. Throws Error if it cannot
  /// be made, RunError if the disk refuses later.
  void create(const TrainConfig& config, const data::Tokenizer& tokenizer);

  void save_config(const TrainConfig& config);
  void save_best(const models::GPT& model);
  bool has_best() const;
  void save_last(const models::GPT& model, const data::Tokenizer& tokenizer, const Checkpoint& checkpoint);

  // Reading throws Error, naming the file, if it is missing or damaged.
  TrainConfig load_config() const;
  data::Tokenizer load_tokenizer() const;
  bool has_last() const;
  Checkpoint load_last() const;
  models::GPT load_last_model() const;

  std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }

 private:
  std::filesystem::path last() const;
  std::filesystem::path path_;
};

/// The vocab.json of a folder that holds a model. Throws Error if there is none or it does not fit the
/// model's.
data::Tokenizer load_tokenizer(const std::filesystem::path& folder, const models::GPTConfig& config);

}  // namespace gradus::train
