// Turn: the steps that a worker runs on the command "run", each of them timed; and the median.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gradus/autograd/graph/profile.hpp"

namespace gradus::bench {

/// The middle value, or the mean of the two in the middle. At least one value must be given.
double median(std::vector<double> values);

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

/// Answers the commands on `in` as worker.hpp describes, until it ends; `other` answers commands other than
/// "run" and "memory". Throws Error for an unknown command.
using Answer = std::function<std::string(const std::string& command)>;
void answer_commands(std::istream& in, std::ostream& out, const std::function<Turn(double, int64_t)>& run,
                     const Answer& other = {});

}  // namespace gradus::bench
