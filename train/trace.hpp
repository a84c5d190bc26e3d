// Trace: a few steps of a run, op by op, in a file that https://ui.perfetto.dev and chrome://tracing open.
//
// The format is Chrome's JSON trace events: an "X" event an op (category forward or backward), and for batch,
// clip and adamw; "step" encloses them. ts and dur are in microseconds, args.shape is that of the op's
// result.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "gradus/autograd/graph/profile.hpp"
#include "gradus/train/run.hpp"

namespace gradus::train {

/// The JSON of a profile: {"traceEvents":[...],"displayTimeUnit":"ms"}.
std::string trace_json(const Profile& profile);

/// Which steps are profiled, and where to.
struct TraceOptions {
  std::filesystem::path file;  ///< what was there is replaced
  int64_t after = 10;          ///< steps of this run that go by first; fewer if the run is shorter
  int64_t steps = 10;          ///< to profile
};

/// Stands before another observer of a run and profiles the trainer's steps; evaluating and saving are left
/// out. Borrows both. One run on one thread.
class TraceObserver : public Observer {
 public:
  /// Throws Error if after < 0 or steps < 1.
  TraceObserver(TraceOptions options, Trainer& trainer, Observer& next);
  /// Steps no longer go to the profile.
  ~TraceObserver() override { trainer_.profile_into(nullptr); }

  /// Throws RunError if the file, which is written after the last of its steps, cannot be.
  void on_step(const StepReport& report) override;
  void before_eval() override { next_.before_eval(); }
  void on_eval(const EvalReport& report) override { next_.on_eval(report); }
  bool should_stop() override { return next_.should_stop(); }

  /// Writes what there is if the run ended before all steps were profiled. Throws RunError as above.
  void finish();

 private:
  void write();

  TraceOptions options_;
  Trainer& trainer_;
  Observer& next_;
  Profile profile_;
  int64_t seen_ = 0;  // steps
  bool written_ = false;
};

}  // namespace gradus::train
