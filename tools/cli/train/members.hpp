// `train --members`: an ensemble, whose members are runs of their own with different seeds.
#pragma once

#include <string>

#include "gradus/tools/cli/train/train_flags.hpp"

namespace gradus::cli {

/// Trains flags.members models in the folder members of the run folder, each in a process of its own and as
/// many at a time as there are threads, then writes the ensemble's config.json and tokenizer, evaluates it
/// and prints a sample. Returns the exit code. Throws Error, with nothing written, for flags that do not go
/// together with --members, and for a folder that has something else.
int train_members(const TrainFlags& flags, const std::string& program);

}  // namespace gradus::cli
