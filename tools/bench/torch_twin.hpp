// The PyTorch twin: torch_twin.py, kept in the program, so that it is wherever gradus is.
#pragma once

#include <string>

#include "gradus/tools/bench/contender.hpp"

namespace gradus::bench {

struct Torch {
  std::string python;   ///< that can import torch
  std::string version;  ///< of torch
};

/// A Python with torch: `python`, or if that is empty python3, or else /usr/bin/python3. Throws Error if none
/// has it.
Torch find_torch(const std::string& python);

/// The worker on the parameters and batches that run_steps() has saved at `weights`. glibc is told to keep
/// its memory, without which PyTorch pays for fresh pages in each step; AVX-512, if there is, is asked for,
/// since not every build takes it unasked. What the environment says of either wins.
Command torch_command(const Torch& torch, const Workload& workload, int threads, const std::string& weights);

}  // namespace gradus::bench
