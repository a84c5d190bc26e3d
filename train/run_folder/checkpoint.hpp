// The saved state of a run: the checkpoint of its trainer, and the files of its model.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/train/trainer/trainer.hpp"

namespace gradus::files {
class FolderUpdate;
}

namespace gradus::train {

/// The data that a run needs to resume, besides its config, vocabulary and parameters.
struct Checkpoint {
  TrainerState trainer;                   ///< step, moments and random streams
  std::optional<double> best_val_loss{};  ///< nats per token; none before the first evaluation
  std::string text_sha256;                ///< of the training text
  int64_t evals_without_best = 0;         ///< evaluations since the one that found best_val_loss
  std::vector<std::string> unlogged{};    ///< lines that could not be written to metrics.jsonl
};

/// The text of trainer.json: everything except the optimizer's moments, which are tensors.
std::string to_json(const Checkpoint& checkpoint);
/// Reads the text of to_json(). Throws Error with `file` and the field for a missing, unknown or wrong field.
Checkpoint checkpoint_from_json(std::string_view json, const std::string& file);

/// How a model is saved, and the texts next to it in a run folder.
struct ModelFiles {
  /// Stages model.safetensors, and a config.json if there is one. May borrow the model.
  std::function<void(files::FolderUpdate&)> model;
  std::function<std::string()> recipe;                ///< the text of train.json at this moment
  std::map<std::string, std::string> tokenizer = {};  ///< its files (data::tokenizer_files), if there is one
};

}  // namespace gradus::train
