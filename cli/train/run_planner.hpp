// `train --minutes`: measures a few steps, and plans a run that fits into the time (train/plan.hpp).
#pragma once

#include <chrono>
#include <memory>

#include "gradus/cli/train/run_text.hpp"
#include "gradus/cli/train/train_flags.hpp"
#include "gradus/train/plan.hpp"

namespace gradus::cli {

/// Tokens of the sample at the end of a run that is not quiet.
inline constexpr int64_t kClosingSample = 300;

/// Plans a run whose minutes began at `start`: its preset, unless one was given, its dropout, unless it was
/// given, and its steps. `ranks` processes share each step. Throws Error if the text is too short for the
/// context length of a preset.
std::shared_ptr<train::TimeBudget> plan_run(const TrainFlags& flags, const train::TrainConfig& config,
                                            const RunTokens& tokens, int ranks,
                                            std::chrono::steady_clock::time_point start);
/// Plans the teachers of such a run: train::planned_teaching().
train::Teaching plan_teaching(const TrainFlags& flags, const train::TrainConfig& config,
                              const RunTokens& tokens, int64_t members,
                              std::chrono::steady_clock::time_point start);

}  // namespace gradus::cli
