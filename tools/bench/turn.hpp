// Turn: what a worker does on "run": steps, timed one by one. And the median that all of bench uses.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gradus/autograd/profile.hpp"

namespace gradus::bench {

/// The middle one, or the mean of the two in the middle. At least one value must be given.
double median(std::vector<double> values);

struct Turn {
  double ms_median = 0, ms_min = 0;  ///< by step
  int64_t steps = 0;
};

/// Calls step() to warm up, for a tenth of what follows, at most 50 ms, once at least; then, timed, until
/// `seconds` have gone by or `steps` calls, once at least.
Turn take_turn(double seconds, int64_t steps, const std::function<void()>& step,
               Profile::Clock now = steady_nanoseconds);

/// "memory" tells the peak from here on.
void reset_peak_memory_of_process();

/// Answers the commands that come on `in`, as worker.hpp says, until it ends; `other` answers those that are
/// not "run" or "memory". Throws Error for a command that is not one.
using Answer = std::function<std::string(const std::string& command)>;
void answer_commands(std::istream& in, std::ostream& out, const std::function<Turn(double, int64_t)>& run,
                     const Answer& other = {});

}  // namespace gradus::bench
