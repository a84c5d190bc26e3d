// The part of `train` before the first step: reads the text, makes or loads the model, plans --minutes, and
// opens the run folder.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "gradus/cli/train/run_text.hpp"
#include "gradus/cli/train/train_flags.hpp"
#include "gradus/data/corpus.hpp"
#include "gradus/data/dataset.hpp"
#include "gradus/data/tokenizer.hpp"
#include "gradus/models/decoder.hpp"
#include "gradus/train/plan.hpp"
#include "gradus/train/run.hpp"
#include "gradus/train/trainer/communicator.hpp"

namespace gradus::cli {

/// A run before its first step, or before the first after a resume.
struct PreparedRun {
  train::TrainConfig initial_config;
  data::Corpus corpus;
  data::Tokenizer tokenizer;
  std::unique_ptr<data::TextDataset> dataset;
  double bytes_per_token;                     ///< of the validation split
  bool text_is_kept;                          ///< whether a resume can read it again: no part is from a pipe
  std::shared_ptr<train::TimeBudget> budget;  ///< null unless the run has --minutes and begins now
  std::unique_ptr<models::Decoder> model;
  std::unique_ptr<train::Trainer> trainer;  ///< borrows the dataset and the model
  std::unique_ptr<train::RunFolder> folder;
  train::Run run;                  ///< borrows the trainer and the folder
  std::vector<std::string> notes;  ///< for the user
  int ranks = 1;                   ///< processes that train together

  /// The config with the number of steps that is planned now.
  const train::TrainConfig& config() const { return budget ? budget->plan() : initial_config; }
};

/// Throws Error, with nothing written, for flags, a text or a folder that cannot be used.
/// On several ranks, all of them prepare the run of rank 0, which alone writes. `ranks` may be null. The time
/// of --minutes began at `start`.
PreparedRun prepare_run(const TrainFlags& flags, train::Communicator* ranks,
                        std::chrono::steady_clock::time_point start);

/// Reads and encodes the text of a new run, and completes its config by it. Throws Error as prepare_run()
/// does.
RunTokens read_tokens(const TrainFlags& flags, train::TrainConfig& config);

/// Throws Error if the folder of a new run is or contains that of a model that the run begins with, or learns
/// from, which --overwrite would remove. Without --overwrite, also if it has the teachers of another run.
void check_apart(const TrainFlags& flags, const std::filesystem::path& out);

/// The folder of --out, or the default.
std::filesystem::path run_path(const TrainFlags& flags);

/// Whether a resume can read the path of a text again: not if it is a pipe.
bool is_kept(const std::string& path);

/// Batches of about `tokens` targets of the validation split; 0: all of it.
std::vector<data::Batch> validation_batches(const data::TextDataset& dataset,
                                            const models::DecoderConfig& model, int64_t tokens);

}  // namespace gradus::cli
