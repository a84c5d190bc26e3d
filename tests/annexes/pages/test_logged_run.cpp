// Logs of runs, as a page reads them.
#include "gradus/annexes/pages/report/logged_run.hpp"

#include <nlohmann/json.hpp>

#include "autograd/compare.hpp"
#include "gradus/annexes/pages/report/report.hpp"
#include "temporary_folder.hpp"

namespace gradus::pages::test_logged_run {

const char* const kLog =
    "{\"event\":\"step\",\"step\":1,\"loss\":4.0,\"elapsed_s\":3}\n"
    "{\"event\":\"step\",\"step\":2,\"loss\":2.0,\"elapsed_s\":6}\n"
    "{\"event\":\"sample\",\"step\":2,\"text\":\"a\"}\n"
    "{\"event\":\"eval\",\"step\":2,\"val_loss\":2.5,\"elapsed_s\":9,\"tokens\":\"all\"}\n";

LoggedRun read(const std::filesystem::path& path) {
  LoggedRun run(path);
  run.update();
  return run;
}

std::string error_of_log(const std::string& log) {
  const testing::TemporaryFolder folder;
  std::ofstream(folder / "metrics.jsonl") << log;
  return testing::error_of([&] { read(folder.path()); });
}

TEST_CASE("a run's losses are read from its folder or its log, whole lines only") {
  const testing::TemporaryFolder folder;
  std::ofstream(folder / "metrics.jsonl") << kLog << "{\"event\":\"step\",\"st";
  for (const auto& path : {folder.path(), folder / "metrics.jsonl"}) {
    const LoggedRun run = read(path);
    CHECK(run.name() == folder.path().filename().string());
    CHECK(run.steps().at("step") == std::vector<double>{1, 2});
    CHECK(run.steps().at("loss") == std::vector<double>{4, 2});
    CHECK(run.steps().at("elapsed_s") == std::vector<double>{3, 6});
    CHECK(run.evaluations().at("val_loss") == std::vector<double>{2.5});
    CHECK(std::isnan(run.evaluations().at("tokens").at(0)));  // another program's log may say so
  }
}

TEST_CASE("runs of one seed are runs of one row, and losses that are no numbers are passed over") {
  const testing::TemporaryFolder folder;
  std::vector<LoggedRun> runs;
  for (const char* seed : {"5", "5", "\"abc\""}) {
    const std::filesystem::path run = folder / concat("r", runs.size());
    std::filesystem::create_directory(run);
    std::ofstream(run / "train.json") << R"({"steps": 3, "seed": )" << seed << "}";
    std::ofstream log(run / "metrics.jsonl");
    for (const char* loss : {"null", "3.0", "2.5"})
      log << R"({"event":"eval","step":1,"val_loss":)" << (runs.empty() ? loss : "1.0") << "}\n";
    log.close();
    runs.push_back(read(run));
  }
  const auto json = nlohmann::json::parse(report_json(runs));
  CHECK(json["runs"][0]["final_loss"] == 2.5);
  CHECK(json["rows"].size() == 1);
  CHECK(json["rows"][0]["seeds"] == 3);
  CHECK(json["rows"][0]["mean"] == 1.5);
}

TEST_CASE("layers are found by name, at the steps that have them") {
  const testing::TemporaryFolder folder;
  std::ofstream(folder / "metrics.jsonl")
      << R"({"event":"layers","step":1,"parameters":{"a.w":[1,2,1],"b.w":[3,4,3]}})"
         "\n"
      << R"({"event":"layers","step":2,"parameters":{"b.w":[5,6,5],"c.w":[7,8,7]}})"
         "\n";
  std::vector<LoggedRun> runs;
  runs.push_back(read(folder.path()));
  const auto layers = nlohmann::json::parse(report_json(runs))["runs"][0]["layers"]["layers"];
  REQUIRE(layers.size() == 3);
  CHECK(layers[0]["norm"].dump() == "[1.0,null]");
  CHECK(layers[1]["norm"].dump() == "[3.0,5.0]");
  CHECK(layers[2]["grad_norm"].dump() == "[null,8.0]");
}

TEST_CASE("what is no log is refused by line") {
  CHECK_HAS(error_of_log("{}\n"), "metrics.jsonl:1 must have a field 'event'.");
  CHECK_HAS(error_of_log(std::string(kLog) + "x\n"), "metrics.jsonl:5 must be JSON");
  const testing::TemporaryFolder folder;
  CHECK_HAS(testing::error_of([&] { read(folder.path()); }), "metrics.jsonl");
  CHECK_HAS(testing::error_of([&] { read(folder / "results.jsonl"); }),
            "must be the log of a run, got the results of a sweep", "folder");
}

}  // namespace gradus::pages::test_logged_run
