// The PyTorch twin: torch_twin.py, which is embedded in the program.
#pragma once

#include <string>

#include "gradus/tools/bench/contender.hpp"

namespace gradus::bench {

struct Torch {
  std::string python;   ///< that can import torch
  std::string version;  ///< of torch
};

/// A Python that has torch: `python`, or if that is empty python3, or else /usr/bin/python3. Throws Error if
/// none has.
Torch find_torch(const std::string& python);

/// The worker on the parameters and batches that run_steps() has saved at `weights`. Variables make glibc
/// keep its memory, because PyTorch would otherwise pay for fresh pages in each step, and select AVX-512 if
/// the machine has it, because not every build selects it. Variables that are already in the environment take
/// precedence.
Command torch_command(const Torch& torch, const Workload& workload, int threads, const std::string& weights);

}  // namespace gradus::bench
