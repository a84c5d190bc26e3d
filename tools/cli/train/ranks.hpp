// `train` on several ranks: starts them, and compares what they are about to do.
#pragma once

#include <memory>
#include <string>

#include "gradus/tools/cli/train/train_flags.hpp"
#include "gradus/train/trainer/communicator.hpp"

namespace gradus::cli {

/// Executes this program again under mpirun, on `flags.ranks` processes of this machine. Throws Error if
/// there is no mpirun.
[[noreturn]] void start_ranks(const TrainFlags& flags);

/// The ranks of this run; null for one process. Gives each rank of a machine its share of the cores, unless
/// --threads was given, and uses the lowest instruction set of all ranks.
std::unique_ptr<train::Communicator> join_ranks(const TrainFlags& flags);

/// The text of rank 0, on all ranks. `ranks` may be null.
std::string from_leader(train::Communicator* ranks, std::string text);

/// Ends all ranks with one line if version, BLAS kernels, settings or the text's checksum differ from those
/// of rank 0.
void compare_ranks(train::Communicator* ranks, const train::TrainConfig& config,
                   const std::string& text_sha256);

}  // namespace gradus::cli
