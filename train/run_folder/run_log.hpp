// RunLog: the log of a run, and its clock. If the log fails, what has been learnt is to be saved before the
// run does, and with it the lines that the log lacks. Not thread-safe.
#pragma once

#include <chrono>
#include <exception>
#include <string>
#include <vector>

#include "gradus/train/trainer/metrics.hpp"

namespace gradus::train {

class RunLog {
 public:
  /// Throws RunError if the file cannot be opened, as MetricsLog does, with whose arguments it is made.
  RunLog(const std::filesystem::path& file, int64_t steps_done, const std::vector<std::string>& unlogged,
         bool is_over)
      : file_(file, steps_done, unlogged, is_over) {}

  /// Adds the report of a step or an evaluation, after telling it how long the run has taken.
  template <class Report>
  void write(Report& report) {
    report.elapsed = file_.elapsed_before() + seconds();
    add(to_json(report));
  }
  /// A step, which counts for the speed too.
  void write_step(StepReport& step);

  bool has_end() const { return file_.has_end(); }     ///< as MetricsLog's
  bool failed() const { return failure_ != nullptr; }  ///< whether a write did
  /// The lines since then.
  const std::vector<std::string>& unlogged() const { return unlogged_; }
  /// Throws the RunError of the write that failed, if one did.
  void rethrow() const;

  double seconds() const;       ///< since this was made
  double tokens_per_s() const;  ///< of the steps written, without what went by between them

 private:
  using Clock = std::chrono::steady_clock;
  void add(const std::string& line);

  Clock::time_point start_ = Clock::now();
  MetricsLog file_;
  std::exception_ptr failure_;
  std::vector<std::string> unlogged_;
  double training_seconds_ = 0, tokens_ = 0;
};

}  // namespace gradus::train
