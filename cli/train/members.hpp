// `train --members`: trains an ensemble. Each member is a run with its own seed.
#pragma once

#include <chrono>
#include <string>

#include "gradus/cli/train/train_flags.hpp"

namespace gradus::cli {

/// The members of the ensemble that the flags ask for: --members, those of a resumed ensemble, or those that
/// --minutes chooses. 1: one model. The time of --minutes began at `start`. Throws Error as planned_members()
/// does.
int64_t members_of(const TrainFlags& flags, std::chrono::steady_clock::time_point start);

/// Trains `count` models in the subfolder members of the run folder. Each has its own process, and as many
/// run at a time as there are threads. Then writes the config.json and the tokenizer of the ensemble,
/// evaluates it and prints a sample. Returns the exit code. The time of --minutes began at `start`. Throws
/// Error, with nothing written, for flags that --members does not allow, and for a folder that has something
/// else.
int train_members(const TrainFlags& flags, int64_t count, std::chrono::steady_clock::time_point start,
                  const std::string& program);

}  // namespace gradus::cli
