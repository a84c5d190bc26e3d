// Verbs on several ranks: starts them, and compares what they are about to do.
#pragma once

#include <memory>
#include <string>

#include "gradus/nn/module.hpp"
#include "gradus/train/train_config.hpp"
#include "gradus/train/trainer/communicator.hpp"

namespace gradus::cli {

/// Returns the ranks of this program, or null for one process. If `count` is above 0, executes the program
/// again under mpirun, as `count` processes on this machine. If `threads` is 0, the ranks of a machine divide
/// its cores. All ranks use the lowest instruction set of any of them. Throws Error if there is no mpirun.
std::unique_ptr<train::Communicator> join_ranks(int64_t count, int64_t threads);

/// The text of rank 0, on all ranks. `ranks` may be null.
std::string from_leader(train::Communicator* ranks, std::string text);
/// Gives all ranks the parameters of rank 0. `ranks` may be null.
void share_parameters(train::Communicator* ranks, nn::Module& model);

/// Ends all ranks with one line if version, BLAS kernels, settings or the text's checksum differ from those
/// of rank 0.
void compare_ranks(train::Communicator* ranks, const train::TrainConfig& config,
                   const std::string& text_sha256);

}  // namespace gradus::cli
