#include "gradus/train/trace.hpp"

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "small_model.hpp"
#include "temporary_folder.hpp"

namespace gradus::train::test_trace {

using nlohmann::json;

/// Where an event begins and ends. The file has microseconds, the clock whole nanoseconds.
int64_t begin_of(const json& e) { return std::llround(1e3 * e.at("ts").get<double>()); }
int64_t end_of(const json& e) { return begin_of(e) + std::llround(1e3 * e.at("dur").get<double>()); }

/// Reads a trace and requires of every event what the format asks for. The events but the titles.
std::vector<json> checked_events(const std::string& text) {
  const json trace = json::parse(text);
  CHECK(trace.at("displayTimeUnit") == "ms");
  std::vector<json> events;
  int64_t last_end = 0;
  for (const json& e : trace.at("traceEvents")) {
    CHECK(e.at("pid") == 1);
    CHECK(e.at("tid") == 1);
    if (e.at("ph") == "M") continue;
    CHECK(e.at("ph") == "X");
    CHECK(e.at("name").get<std::string>() != "");
    CHECK(e.at("ts").get<double>() >= 0);
    CHECK(e.at("dur").get<double>() >= 0);
    CHECK(end_of(e) >= last_end);
    last_end = end_of(e);
    const std::string category = e.at("cat");
    CHECK((category == "forward" || category == "backward" || category == "work" || category == "step"));
    CHECK(e.contains("args") == (category == "forward" || category == "backward"));
    events.push_back(e);
  }
  return events;
}

int64_t count(const std::vector<json>& events, const std::string& name, const std::string& category) {
  return std::count_if(events.begin(), events.end(),
                       [&](const json& e) { return e.at("name") == name && e.at("cat") == category; });
}

TEST_CASE("a trace has the ops of the steps that were asked for, both ways, and what is around them",
          "[needs.fast]") {
  TrainConfig config = small_config();
  config.accum = 2;
  SmallRun run(config);
  const testing::TemporaryFolder scratch;
  const std::filesystem::path file = scratch / "trace.json";
  Observer nobody;
  TraceObserver observer({file, 2, 3}, run.trainer, nobody);
  for (int i = 0; i < 8; ++i) {
    observer.on_step(run.trainer.step());
    CHECK(std::filesystem::exists(file) == (i >= 4));
  }

  const std::vector<json> events = checked_events(files::read(file));
  const int64_t layers = config.model.n_layer, batches = 3 * 2;
  CHECK(count(events, "step", "step") == 3);
  CHECK(count(events, "batch", "work") == batches);
  CHECK(count(events, "clip", "work") == 3);
  CHECK(count(events, "adamw", "work") == 3);
  for (const char* direction : {"forward", "backward"}) {
    CHECK(count(events, "linear", direction) == batches * (4 * layers + 1));
    CHECK(count(events, "layer_norm", direction) == batches * (2 * layers + 1));
    CHECK(count(events, "scaled_dot_product_attention", direction) == batches * layers);
    CHECK(count(events, "cross_entropy", direction) == batches);
  }
  const auto attention = std::find_if(events.begin(), events.end(), [](const json& e) {
    return e.at("name") == "scaled_dot_product_attention";
  });
  CHECK(attention->at("args").at("shape") == std::vector<int64_t>{4, 8, 16});

  // What a step is made of comes one after another, and inside it.
  int64_t step_end = 0, last_end = 0, inside = 0;
  for (const json& e : events) {
    if (e.at("cat") == "step") {
      CHECK(begin_of(e) >= step_end);
      CHECK(end_of(e) >= last_end);
      CHECK(inside > 0);
      step_end = last_end = end_of(e);
      inside = 0;
    } else {
      CHECK(begin_of(e) >= last_end);
      last_end = end_of(e);
      inside += end_of(e) - begin_of(e);
    }
  }
}

TEST_CASE("a short run is profiled from earlier on, a stopped one as far as it got") {
  TrainConfig config = small_config();
  config.steps = 4;
  const testing::TemporaryFolder scratch;
  Observer nobody;
  SmallRun run(config);
  SECTION("short") {
    TraceObserver observer({scratch / "t.json", 10, 3}, run.trainer, nobody);
    for (int i = 0; i < 4; ++i) observer.on_step(run.trainer.step());
    CHECK(count(checked_events(files::read(scratch / "t.json")), "step", "step") == 3);
  }
  SECTION("stopped") {
    TraceObserver observer({scratch / "t.json", 10, 30}, run.trainer, nobody);
    for (int i = 0; i < 2; ++i) observer.on_step(run.trainer.step());
    CHECK_FALSE(std::filesystem::exists(scratch / "t.json"));
    observer.finish();
    run.trainer.step();
    CHECK(count(checked_events(files::read(scratch / "t.json")), "step", "step") == 2);
  }
  SECTION("nonsense") {
    CHECK_THROWS_WITH(TraceObserver({"t", -1, 1}, run.trainer, nobody),
                      "[trace] the steps before must be at least 0, got -1.");
    CHECK_THROWS_WITH(TraceObserver({"t", 0, 0}, run.trainer, nobody),
                      "[trace] the steps must be at least 1, got 0.");
  }
}

TEST_CASE("profiling changes no bit of what is learnt") {
  SmallRun with, without;
  Profile profile;
  with.trainer.profile_into(&profile);
  for (int i = 0; i < 3; ++i) CHECK(with.trainer.step().loss == without.trainer.step().loss);
  CHECK(values_of(with.model) == values_of(without.model));
  CHECK(profile.events().size() > 30);
}

}  // namespace gradus::train::test_trace
