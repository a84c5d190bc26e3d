// Trace: the ops of a few steps of a run, in a file for https://ui.perfetto.dev and chrome://tracing.
//
// The format is Chrome's JSON trace events: an "X" event for each op (category forward or backward), and for
// batch, clip and the optimizer; "step" encloses them. ts and dur are in microseconds, args.shape is the
// shape of the op's result. On several ranks, each is a process, pid, with a row for its messages.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "gradus/autograd/graph/profile.hpp"
#include "gradus/train/run.hpp"

namespace gradus::train {

/// The first bytes of the file, which is {"otherData":{...},"traceEvents":[...],"displayTimeUnit":"ms"}.
inline constexpr std::string_view kTraceBegin = "{\"otherData\":{\"gradus\":\"train\"},\"traceEvents\":[\n";

/// The steps that are profiled, and the file.
struct TraceOptions {
  std::filesystem::path file;  ///< an existing file is replaced
  int64_t after = 10;          ///< steps of this run before the first one; fewer if the run is shorter
  int64_t steps = 10;          ///< to profile
};

/// Profiles the trainer's steps, without evaluations and saves, and passes all events to another observer.
/// Borrows both. One run on one thread.
class TraceObserver : public PassingObserver {
 public:
  /// Throws Error if after < 0 or steps < 1.
  TraceObserver(TraceOptions options, Trainer& trainer, Observer& next);
  /// Ends the profiling.
  ~TraceObserver() override { trainer_.profile_into(nullptr); }

  /// Writes the file after the last of its steps. Throws RunError if the disk refuses.
  void on_step(const StepReport& report) override;

  /// Writes the file if the run ended before all steps were profiled. Throws RunError as above.
  void finish();

 private:
  TraceOptions options_;
  Trainer& trainer_;
  Profile profile_;
  int64_t seen_ = 0;  // steps
  bool written_ = false;
};

}  // namespace gradus::train
