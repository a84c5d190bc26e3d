// `train --members`: trains an ensemble. Each member is a run with its own seed. With --minutes, an ensemble
// teaches the model of the run.
#pragma once

#include <chrono>
#include <string>

#include "gradus/cli/train/train_flags.hpp"
#include "gradus/train/plan.hpp"

namespace gradus::cli {

/// The members of the ensemble that the flags ask for: --members, or those of a resumed ensemble; 0: none.
int64_t members_of(const TrainFlags& flags);

/// The teachers that --minutes, whose time began at `start`, gives the model, or those of a resumed run whose
/// model has not begun. Throws Error as planned_teaching() does.
train::Teaching teaching_of(const TrainFlags& flags, std::chrono::steady_clock::time_point start);

/// Trains teachers, an ensemble in the subfolder teachers of the run folder, and then, as another process,
/// the model of the run, which learns from them (TrainConfig::teacher). Returns the exit code. Throws Error
/// as train_members() does.
int train_taught(const TrainFlags& flags, const train::Teaching& teaching,
                 std::chrono::steady_clock::time_point start, const std::string& program);

/// Trains `count` models in the subfolder members of the run folder. Each has its own process, and as many
/// run at a time as there are threads. Then writes the config.json and the tokenizer of the ensemble,
/// evaluates it and prints a sample. Returns the exit code. The time of --minutes began at `start`. Throws
/// Error, with nothing written, for flags that --members does not allow, and for a folder that has something
/// else.
int train_members(const TrainFlags& flags, int64_t count, std::chrono::steady_clock::time_point start,
                  const std::string& program);

}  // namespace gradus::cli
