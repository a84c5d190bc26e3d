#include "gradus/train/trainer/trace_events.hpp"

#include <algorithm>
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

MessageTime message_time(const std::vector<Communication>& recorded) {
  struct Edge {
    int64_t at;
    int messages, waits;  // that begin, or end if negative
  };
  std::vector<Edge> edges;
  for (const Communication& one : recorded) {
    const int is_message = one.to >= 0 ? 1 : 0, is_wait = 1 - is_message;
    edges.push_back({one.start, is_message, is_wait});
    edges.push_back({one.end, -is_message, -is_wait});
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.at < b.at; });
  MessageTime time;
  int messages = 0, waits = 0;
  int64_t last = 0;
  for (const Edge& edge : edges) {
    const double seconds = messages > 0 ? static_cast<double>(edge.at - last) / 1e9 : 0;
    time.total += seconds;
    if (waits == 0) time.hidden += seconds;
    messages += edge.messages;
    waits += edge.waits;
    last = edge.at;
  }
  return time;
}

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
