// Workers: the processes that a comparison runs in turn. Each reads one command per line and answers with a
// JSON object on a line. torch_twin.py is a worker too. A worker ends when its input does.
//
//   the first line  {"losses":[..]}: the loss of the first batch in evaluation mode, then, without dropout,
//                   those of two training steps. For generate also {"tokens":[..]}; {} for floors.
//   run SEC STEPS   after a warm-up, runs steps until SEC seconds have passed or STEPS steps, at least one:
//                   {"ms_median":..,"ms_min":..,"steps":..}, by step or generated token
//   ops STEPS       milliseconds per step by op, and in total:
//                   {"ops":[{"op":..,"forward":..,"backward":..},..],"ms":..}
//   memory          {"peak_mib":..}: resident memory since the model was made
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "gradus/autograd/graph/profile.hpp"
#include "gradus/tools/bench/workload.hpp"

namespace gradus::bench {

/// Runs steps of the workload. If `save` is a path, first writes a safetensors file with the initial
/// parameters and, as "tokens" (16, B, T + 1), the batches, which are used in a cycle: x is each row without
/// its last token, y without its first.
void run_steps(const Workload& workload, const std::string& save, std::istream& in, std::ostream& out);

/// Measures the floor: the time of the workload's matrix products alone, through BLAS one size after another,
/// or, if that is less, the time of as many multiplications and additions at nine tenths of the machine's
/// peak; for generate, the time to read all parameters once. Each size counts with its median, for the faster
/// of BLAS's threads and one product per thread.
void run_floor(const Workload& workload, std::istream& in, std::ostream& out);

/// The middle value, or the mean of the two in the middle. At least one value must be given.
double median(std::vector<double> values);

/// The steps that a worker runs on the command "run".
struct Turn {
  double ms_median = 0, ms_min = 0;  ///< of a step
  int64_t steps = 0;
};

/// Calls step() first to warm up: at least once, for a tenth of the steps or time, at most 50 ms. Then calls
/// it, timed, at least once, until `seconds` have passed or `steps` calls are made.
Turn take_turn(double seconds, int64_t steps, const std::function<void()>& step,
               Profile::Clock now = steady_nanoseconds);

/// The command "memory" reports the peak after this call.
void reset_peak_memory_of_process();

/// Answers the commands on `in` until it ends; `other` answers commands other than "run" and "memory". Throws
/// Error for an unknown command.
void answer_commands(std::istream& in, std::ostream& out, const std::function<Turn(double, int64_t)>& run,
                     const std::function<std::string(const std::string& command)>& other = {});

}  // namespace gradus::bench
