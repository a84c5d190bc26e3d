// RunFolder: what a training run leaves on disk, in open formats.
//
//   config.json, model.safetensors   the best model so far, as Hugging Face's transformers reads GPT-2
//   vocab.json                       the tokenizer
//   train.json                       every flag of the run
//   metrics.jsonl                    a line for each step and evaluation
//   last/                            the newest state, all that it takes to go on: a folder for `gradus
//   sample`
//                                    as well, with a train.json of its own, and
//     optimizer.safetensors          the optimizer's moments
//     trainer.json                   step, best loss, streams of random numbers, checksum of the text
//   checksums.sfv, last/checksums.sfv   what the files beside them hold, but for metrics.jsonl
//   .lock                            see run_lock.hpp
//
// Files appear under their names only when they are whole, and last/ only when all of its files are: a crash
// at any moment leaves something to resume from, and readers, who take no lock, find files that belong
// together. What is neither listed above nor the temporary name of one of these is left alone. Not
// thread-safe; whoever writes holds the lock.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "gradus/data/tokenizer.hpp"
#include "gradus/files/folder_snapshot.hpp"
#include "gradus/train/checkpoint.hpp"
#include "gradus/train/run_lock.hpp"

namespace gradus::train {

class RunFolder {
 public:
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}
  const std::filesystem::path& path() const { return path_; }

  // Before writing.

  /// Throws Error unless the folder is absent or empty, or holds a run that may be overwritten. Changes
  /// nothing.
  void check_free(bool overwrite) const;
  /// Is there a run, by any of its files?
  bool has_run() const;
  /// Takes the lock of a folder that is there, until this goes. Throws as RunLock does.
  void lock();
  /// Makes and locks the folder, without what an earlier run left in it; other files stay. Throws Error if it
  /// cannot be made or is not free, RunError if the disk refuses later.
  void create(const TrainConfig& config, const data::Tokenizer& tokenizer, bool overwrite);
  /// For a run that goes on: reads every file there is a checksum of. Throws Error, naming it, if one was
  /// changed. Returns lines for the user about what could not be checked.
  std::vector<std::string> verify();
  /// For a run that goes on, after verify(): the flags and the tokenizer beside the best model.
  void go_on(const TrainConfig& config, const data::Tokenizer& tokenizer);

  // Writing. Throws RunError if the disk refuses or the folder is gone; what was saved before is still there.
  void save_best(const models::GPT& model);
  void save_last(const models::GPT& model, const data::Tokenizer& tokenizer, const TrainConfig& config,
                 const Checkpoint& checkpoint);
  /// Throws RunError if the folder that was locked is no longer there.
  void check_there() const;

  // Reading throws Error, naming the file, if it is missing or damaged. What is not said to be of the best
  // model is of the newest state.
  bool has_best() const;
  bool has_last() const;
  TrainConfig load_config() const;
  data::Tokenizer load_tokenizer() const;
  Checkpoint load_last() const;
  models::GPT load_last_model() const;

  std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }
  /// "" unless the file system has no locks.
  std::string lock_warning() const { return lock_ ? lock_->warning() : ""; }

 private:
  std::filesystem::path last() const;
  template <class F>
  auto read_last(F&& read) const;

  std::filesystem::path path_;
  std::optional<RunLock> lock_;
  files::Checksums checksums_;  // of the files in path_
};

/// A model and its tokenizer, out of a folder that another process may be writing.
struct TrainedModel {
  models::GPT model;
  data::Tokenizer tokenizer;
};
/// Throws Error, naming the file, if one is missing or damaged, or the two do not fit.
TrainedModel load_trained(const std::filesystem::path& folder);

/// The tokenizer alone. Throws Error if there is none or it does not fit the model's config.json.
data::Tokenizer load_tokenizer(const std::filesystem::path& folder);

}  // namespace gradus::train
