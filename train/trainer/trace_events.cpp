#include "gradus/train/trainer/trace_events.hpp"

#include <nlohmann/json.hpp>

namespace gradus::train {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kOps = 1, kMessages = 2;  // rows

Json event(const char* category, std::string_view name, double start, double seconds, int rank, int row) {
  return {{"name", name},         {"cat", category}, {"ph", "X"}, {"ts", 1e6 * start},
          {"dur", 1e6 * seconds}, {"pid", rank + 1}, {"tid", row}};
}

Json event(const ProfileEvent& e, int rank) {
  using enum ProfileEvent::Phase;
  Json json = event(e.phase == forward    ? "forward"
                    : e.phase == backward ? "backward"
                    : e.phase == work     ? "work"
                                          : "step",
                    e.name, e.start, e.seconds(), rank, kOps);
  if (e.phase == forward || e.phase == backward)
    json["args"] = {{"shape", std::vector<int64_t>(e.shape.begin(), e.shape.end())}};
  return json;
}

Json title(const char* what, const std::string& name, int rank, int row) {
  return {{"name", what}, {"ph", "M"}, {"pid", rank + 1}, {"tid", row}, {"args", {{"name", name}}}};
}

}  // namespace

std::string trace_events(const Profile& profile, const std::vector<Communication>& recorded, int rank) {
  std::string text =
      title("process_name", recorded.empty() ? "gradus" : concat("gradus, rank ", rank), rank, kOps).dump() +
      ",\n" + title("thread_name", "ops", rank, kOps).dump();
  for (const ProfileEvent& e : profile.events()) text += ",\n" + event(e, rank).dump();
  if (recorded.empty()) return text;
  text += ",\n" + title("thread_name", "messages", rank, kMessages).dump();
  for (const Communication& one : recorded) {
    const double start = profile.seconds_at(one.start),
                 seconds = static_cast<double>(one.end - one.start) / 1e9;
    Json json = one.to < 0 ? event("work", "wait for ranks", start, seconds, rank, kOps)
                           : event("message", concat("to rank ", one.to), start, seconds, rank, kMessages);
    if (one.to >= 0) json["args"] = {{"bytes", one.bytes}};
    text += ",\n" + json.dump();
  }
  return text;
}

}  // namespace gradus::train
