// Verbs on several ranks: starts them, and compares what they are about to do.
#pragma once

#include <memory>
#include <string>

#include "gradus/nn/module.hpp"
#include "gradus/train/train_config.hpp"
#include "gradus/train/trainer/communicator.hpp"

namespace gradus::cli {

/// The ranks of this program; null for one process. If `count` ranks are asked for (0: not), executes the
/// program again under mpirun, on so many processes of this machine. Gives each rank of a machine its share
/// of the cores, unless `threads` (0: not) were asked for, and uses the lowest instruction set of all ranks.
/// Throws Error if there is no mpirun.
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
