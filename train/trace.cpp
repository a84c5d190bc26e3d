#include "gradus/train/trace.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <vector>

#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"

namespace gradus::train {
namespace {

using Json = nlohmann::ordered_json;

Json event(const ProfileEvent& e) {
  using enum ProfileEvent::Phase;
  const bool is_op = e.phase == forward || e.phase == backward;
  Json json{{"name", e.name},
            {"cat", e.phase == forward    ? "forward"
                    : e.phase == backward ? "backward"
                    : e.phase == work     ? "work"
                                          : "step"},
            {"ph", "X"},
            {"ts", 1e6 * e.start},
            {"dur", 1e6 * e.seconds()},
            {"pid", 1},
            {"tid", 1}};
  if (is_op) json["args"] = {{"shape", std::vector<int64_t>(e.shape.begin(), e.shape.end())}};
  return json;
}

Json title(const char* what, const char* name) {
  return {{"name", what}, {"ph", "M"}, {"pid", 1}, {"tid", 1}, {"args", {{"name", name}}}};
}

}  // namespace

std::string trace_json(const Profile& profile) {
  std::string text = "{\"traceEvents\":[\n" + title("process_name", "gradus").dump() + ",\n" +
                     title("thread_name", "ops").dump();
  for (const ProfileEvent& e : profile.events()) text += ",\n" + event(e).dump();
  return text + "\n],\"displayTimeUnit\":\"ms\"}\n";
}

TraceObserver::TraceObserver(TraceOptions options, Trainer& trainer, Observer& next)
    : options_(std::move(options)), trainer_(trainer), next_(next) {
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
  trainer_.profile_into(nullptr);
  if (written_) return;
  files::write_atomically(options_.file, [&](std::ostream& out) { out << trace_json(profile_); });
  written_ = true;
}

}  // namespace gradus::train
