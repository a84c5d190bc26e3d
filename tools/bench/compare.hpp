// compare(): runs a workload by gradus, by the bare machine and by PyTorch, in turn: A B C A B C ...
//
// The machine may be shared and its clock may change, so all sides are measured within the same second or
// two, several times, and ratios are medians of the ratios of such neighbouring times.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gradus/tools/bench/contender.hpp"
#include "gradus/tools/bench/workload.hpp"

namespace gradus::bench {

/// A Python with PyTorch, for the PyTorch twin: torch_twin.py, which is embedded in the program.
struct Torch {
  std::string python;   ///< that can import torch
  std::string version;  ///< of torch
};

/// A Python that has torch: `python`, or if that is empty python3, or else /usr/bin/python3. Throws Error if
/// none has.
Torch find_torch(const std::string& python);

/// Runs the twin on the parameters and batches that run_steps() has saved at `weights`. Sets variables: glibc
/// keeps its memory, because PyTorch would otherwise allocate new pages in each step; and AVX-512 is selected
/// if the machine has it, because not every build selects it. Variables that are already in the environment
/// take precedence.
Command torch_command(const Torch& torch, const Workload& workload, int threads, const std::string& weights);

struct CompareOptions {
  std::string program;  ///< the gradus that is measured
  int threads = 1;
  int rounds = 5;                ///< turns of each side
  double seconds = 5;            ///< measured time of each side, in all its turns
  int64_t steps = 0;             ///< measured steps of each side, in all its turns; 0: by seconds
  bool ops = true;               ///< also the share of time of each op, in a separate pass
  bool float32 = true;           ///< a workload in bfloat16 is also measured in float32
  std::optional<Torch> torch{};  ///< also measured, except for weights in tiles, which PyTorch lacks
};

struct OpTime {
  std::string op;
  double forward = 0, backward = 0;  ///< ms per step
};

struct TorchResult {
  double ms_median = 0, ms_min = 0, peak_mib = 0;
  std::vector<double> ratios;  ///< torch's time over gradus's, turn by turn
  double ratio = 0;            ///< their median
  double difference = 0;       ///< of the first losses, relative; the largest
};

struct Result {
  Workload workload;
  int threads = 1;
  double ms_median = 0, ms_min = 0;  ///< per step, or per generated token
  double tokens_per_s = 0;
  double peak_mib = 0;
  double floor_ms = 0;  ///< see run_floor()
  double floor_min = 0;
  double floor_ratio = 0;     ///< median over the turns of gradus's time over the floor's
  std::vector<OpTime> ops{};  ///< the most expensive first
  double ops_ms = 0;          ///< of the whole step in the pass that timed ops
  std::optional<TorchResult> torch{};
  double float32_ratio = 0;  ///< median of the time in bfloat16 over that in float32; 0 for other dtypes
};

/// A worker of the workload: `role` is steps or floor.
Command worker_command(const Workload& workload, const CompareOptions& options, const char* role);

/// Takes a few times as long as `seconds`. Throws RunError if a side fails, or if PyTorch's losses of the
/// same parameters and batches differ by more than 1e-4 (updated parameters 1e-3; bfloat16 1e-2), or its
/// tokens differ.
Result compare(const Workload& workload, const CompareOptions& options);

}  // namespace gradus::bench
