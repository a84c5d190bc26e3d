// Checkpoint: what a run needs to go on, beside its config, vocabulary and parameters. A plain value.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/train/trainer/trainer.hpp"

namespace gradus::train {

/// What a run needs to go on.
struct Checkpoint {
  TrainerState trainer;                   ///< step, moments and streams
  std::optional<double> best_val_loss{};  ///< nats a token; none before the first evaluation
  std::string text_sha256;                ///< of the text trained on
  int64_t evals_without_best = 0;         ///< since the one that found best_val_loss
  std::vector<std::string> unlogged{};    ///< lines that metrics.jsonl, which could not be written, lacks
};

/// The text of trainer.json: all but the optimizer's moments, which are tensors.
std::string to_json(const Checkpoint& checkpoint);
/// What to_json() wrote. Throws Error, naming `file` and the field, for what is missing, unknown or no state.
Checkpoint checkpoint_from_json(std::string_view json, const std::string& file);

}  // namespace gradus::train
