// `train --members`: an ensemble, whose members are runs of their own with different seeds.
#pragma once

#include <chrono>
#include <string>

#include "gradus/tools/cli/train/train_flags.hpp"

namespace gradus::cli {

/// The members of the ensemble that the flags ask for: --members, those of a resumed ensemble, or those that
/// --minutes chooses. 1: one model. The time of --minutes began at `start`. Throws Error as planned_members()
/// does.
int64_t members_of(const TrainFlags& flags, std::chrono::steady_clock::time_point start);

/// Trains so many models in the folder members of the run folder, each in a process of its own and as many at
/// a time as there are threads, then writes the ensemble's config.json and tokenizer, evaluates it and prints
/// a sample. Returns the exit code. The time of --minutes began at `start`. Throws Error, with nothing
/// written, for flags that do not go together with --members, and for a folder that has something else.
int train_members(const TrainFlags& flags, int64_t count, std::chrono::steady_clock::time_point start,
                  const std::string& program);

}  // namespace gradus::cli
