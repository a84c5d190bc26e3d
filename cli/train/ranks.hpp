// Verbs on several ranks: starts them, and compares what they are about to do.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "gradus/train/train_config.hpp"
#include "gradus/train/trainer/communicator.hpp"

namespace gradus::cli {

/// Returns the ranks of this program, or null for one process. If `count` is above 0, executes the program
/// again under mpirun, as `count` processes on this machine. If `threads` is 0, the ranks of a machine divide
/// its cores. All ranks use the lowest instruction set of any of them. Throws Error if there is no mpirun.
std::unique_ptr<train::Communicator> join_ranks(int64_t count, int64_t threads);

/// Calls f() on rank 0, or if `ranks` is null, and returns its text on all ranks. If it throws, all ranks
/// throw its error.
std::string on_leader(train::Communicator* ranks, const std::function<std::string()>& f);

/// Ends all ranks with one line if version, BLAS kernels, settings or the text's checksum differ from those
/// of rank 0.
void compare_ranks(train::Communicator* ranks, const train::TrainConfig& config,
                   const std::string& text_sha256);

}  // namespace gradus::cli
