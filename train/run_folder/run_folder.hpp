// RunFolder: what a training run leaves on disk, in open formats.
//
//   model.safetensors                the best model so far; of the decoder, with a config.json beside it, as
//                                    Hugging Face's transformers reads GPT-2 or Llama
//   vocab.json                       the tokenizer, if there is one, and its other files: merges.txt,
//                                    tokenizer.json, tokenizer_config.json (data/tokenizer_files.hpp)
//   train.json                       what was asked for: every flag of `gradus train`, or the numbers of a
//                                    recipe of one's own
//   metrics.jsonl                    a line for each step and evaluation
//   last/                            the newest state, all that it takes to go on: the files above as well,
//                                    with a train.json of its own, and
//     optimizer.safetensors          the optimizer's moments
//     trainer.json                   step, best loss, streams of random numbers, checksum of the text
//   kept/step-N/                     on request, last/ as it was after step N
//   checksums.sfv, last/checksums.sfv   what the files beside them hold, but for metrics.jsonl
//   .lock                            see run_lock.hpp
//
// Files appear under their names only when they are whole, and last/ only when all of its files are: a crash
// at any moment leaves something to resume from, and readers, who take no lock, find files that belong
// together. What is neither listed above nor the temporary name of one of these is left alone. A symbolic
// link in the place of a file or folder is read through; to write that is to replace the link, and what it
// leads to stays as it is. Not thread-safe; whoever writes holds the lock.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "gradus/files/folder.hpp"
#include "gradus/train/run_folder/checkpoint.hpp"
#include "gradus/train/run_folder/model_files.hpp"
#include "gradus/train/run_folder/run_lock.hpp"

namespace gradus::train {

/// The folder of a run: who writes locks it, who reads need not.
class RunFolder {
 public:
  /// Touches nothing yet.
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}
  const std::filesystem::path& path() const { return path_; }  ///< as it was given

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
  void create(const ModelFiles& files, bool overwrite);
  /// For a run that goes on: reads every file there is a checksum of. Throws Error, naming it, if one was
  /// changed. Returns lines for the user about what could not be checked.
  std::vector<std::string> verify();
  /// For a run that goes on, after verify(): the texts beside the best model.
  void go_on(const ModelFiles& files);

  // Writing. Throws RunError if the disk refuses or the folder is gone; what was saved before is still there.
  void save_best(const ModelFiles& files);  ///< the model's files, and their checksums
  /// All of last/, in place of what was there.
  void save_last(const ModelFiles& files, const Checkpoint& checkpoint);
  /// Lets what last/ holds stay as kept/step-N too, of the last `count` of such; removes earlier ones.
  void keep_last(int64_t step, int64_t count);
  /// Throws RunError if the folder that was locked is no longer there.
  void check_there() const;

  // Reading throws Error, naming the file, if it is missing or damaged. What is not said to be of the best
  // model is of the newest state.
  bool has_best() const;         ///< whether a best model is there
  bool has_last() const;         ///< whether there is a state to go on from
  Checkpoint load_last() const;  ///< from trainer.json and optimizer.safetensors
  /// What `read` makes of a FolderSnapshot of the newest state.
  template <class Read>
  auto read_last(Read&& read) const {
    return files::read_folder_at([this] { return last(); }, read);
  }
  /// What `read` makes of a FolderSnapshot in which train.json is the run's: the newest state's, or, if there
  /// is none yet, the folder's. Throws Error if there is no run.
  template <class Read>
  auto read_recipe(Read&& read) const {
    return files::read_folder_at([this] { return with_recipe(); }, read);
  }

  /// Where metrics.jsonl is, or will be.
  std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }
  /// "" unless the file system has no locks.
  std::string lock_warning() const { return lock_ ? lock_->warning() : ""; }

 private:
  std::filesystem::path last() const;
  std::filesystem::path with_recipe() const;

  std::filesystem::path path_;
  std::optional<RunLock> lock_;
  files::Checksums checksums_;  // of the files in path_
};

}  // namespace gradus::train
