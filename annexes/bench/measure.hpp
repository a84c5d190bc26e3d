// measure(): the time and the memory of a workload's steps, beside the time of the bare machine.
//
// The machine may be shared and its clock may change, so the steps and the floor take turns within the same
// second or two, and their ratio is the median of the ratios of neighbouring turns.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gradus/annexes/bench/workload.hpp"
#include "gradus/autograd/graph/profile.hpp"

namespace gradus::bench {

/// The middle value, or the mean of the two in the middle. At least one value must be given.
double median(std::vector<double> values);

/// Some steps that were timed one by one.
struct Turn {
  double ms_median = 0, ms_min = 0;  ///< of a step
  int64_t steps = 0;
};

/// Calls step() first to warm up: at least once, for a tenth of the steps or time, at most 50 ms. Then calls
/// it, timed, at least once, until `seconds` have passed or `steps` calls are made.
Turn take_turn(double seconds, int64_t steps, const std::function<void()>& step,
               Profile::Clock now = steady_nanoseconds);

struct OpTime {
  std::string op;
  double forward = 0, backward = 0;  ///< ms per step
};

struct Result {
  Workload workload;
  double ms_median = 0, ms_min = 0;  ///< per step, or per generated token
  double tokens_per_s = 0;
  double peak_mib = 0;  ///< of this process since the model was made
  /// The median of the products alone, through BLAS one size after another (for the faster of BLAS's threads
  /// and one product per thread), or, if that is less, of as many multiplications and additions at nine
  /// tenths of the machine's peak. For generate: of reading all parameters once.
  double floor_ms = 0;
  double floor_ratio = 0;   ///< median over the turns of the steps' time over the floor's
  std::vector<OpTime> ops;  ///< the most expensive first
  double ops_ms = 0;        ///< of the whole step in the pass that timed ops
  std::vector<double>
      losses;  ///< of the first batch in evaluation mode, then, without dropout, of two training steps
  std::vector<int64_t> tokens;  ///< that generate has written
};

struct MeasureOptions {
  double seconds = 5;     ///< measured time of the steps, and of the floor, in all their turns
  int64_t steps = 0;      ///< measured steps in all turns; 0: by seconds
  std::string save = {};  ///< see measure()
};

/// Measures the workload with the threads that are set. If `save` is a path, first writes a safetensors file
/// with the initial parameters and, as "tokens" (16, B, T + 1), the batches, which are used in a cycle: x is
/// each row without its last token, y without its first. Not thread-safe.
Result measure(const Workload& workload, const MeasureOptions& options);

}  // namespace gradus::bench
