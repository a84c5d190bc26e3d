#include "gradus/train/trace.hpp"

#include <algorithm>
#include <ostream>

#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/train/trainer/trace_events.hpp"

namespace gradus::train {

TraceObserver::TraceObserver(TraceOptions options, Trainer& trainer, Observer& next)
    : PassingObserver(next), options_(std::move(options)), trainer_(trainer) {
  if (options_.after < 0) fail("trace", "the steps before must be at least 0, got ", options_.after, ".");
  if (options_.steps < 1) fail("trace", "the steps must be at least 1, got ", options_.steps, ".");
  const int64_t left = trainer.recipe().loop.steps - trainer.steps_done();
  options_.after = std::clamp<int64_t>(left - options_.steps, 0, options_.after);
  if (options_.after == 0) trainer_.profile_into(&profile_);
}

void TraceObserver::on_step(const StepReport& report) {
  next_.on_step(report);
  ++seen_;
  if (seen_ == options_.after) trainer_.profile_into(&profile_);
  if (seen_ == options_.after + options_.steps) finish();
}

void TraceObserver::finish() {
  if (written_) return;
  const std::string events = seen_ >= options_.after ? trainer_.take_trace() : trace_events(profile_, {}, 0);
  files::write_atomically(options_.file, [&](std::ostream& out) {
    out << kTraceBegin << events << "\n],\"displayTimeUnit\":\"ms\"}\n";
  });
  written_ = true;
}

}  // namespace gradus::train
