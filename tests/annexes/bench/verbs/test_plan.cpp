// gradus plan, as a user or a script runs it.
#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "test_files.hpp"

namespace gradus::cli::test_plan {

using nlohmann::json;

std::vector<json> events(const std::vector<std::string>& flags) {
  const Outcome outcome = must("plan", flags, "--preset tiny --seconds 0.1 --threads 1 --json");
  std::vector<json> all;
  for (const std::string& line : lines_of(outcome.out)) all.push_back(json::parse(line));
  return all;
}

TEST_CASE("plan has a row for each power of two up to the number of machines") {
  const std::vector<json> lines = events(args("--machines 6 --network 10Mbit,1ms"));
  REQUIRE(lines.size() == 5);
  const int64_t machines[] = {1, 2, 4, 6}, micro[] = {1, 2, 4, 16};  // 6 do not divide the 16 windows
  for (size_t i = 0; i < 4; ++i) {
    INFO(lines[i]);
    CHECK(lines[i].at("machines") == machines[i]);
    CHECK(lines[i].at("micro") == micro[i]);
    double sum = 0;
    for (const char* part :
         {"compute_ms", "gradients_ms", "update_ms", "parameters_ms", "latency_ms", "messages_ms"})
      sum += lines[i].at(part).get<double>();
    CHECK(lines[i].at("step_ms").get<double>() == Catch::Approx(sum));
    CHECK((lines[i].at("latency_ms").get<double>() > 0) == (i > 0));
  }
  CHECK(lines[4].at("event") == "done");
  CHECK(lines[4].at("machines_that_pay") == 1);
}

TEST_CASE("plan takes what ranks exchange into account") {
  const auto row = [](std::vector<std::string> flags) {
    flags.insert(flags.end(), {"--machines", "2", "--network", "10Mbit,1ms"});
    return events(flags)[1];
  };
  const json plain = row({}), half = row(args("--wire bf16"));
  const auto ms = [](const json& line) { return line.at("parameters_ms").get<double>(); };
  CHECK(ms(half) == Catch::Approx(ms(plain) / 2).epsilon(0.1));  // a part is sent during the update
}

TEST_CASE("the scripts of plan and sweep compute what is in tables, or was computed by hand") {
  const std::string script = (testing::test_files() / "annexes/bench/verbs/scripts.py").string();
  const Outcome outcome = run_shell("python3 -B " + script);
  INFO(outcome.err);
  CHECK(outcome.code == 0);
}

TEST_CASE("plan says what it measured and what it simulated") {
  const Outcome outcome = call("plan --preset tiny --machines 2 --seconds 0.1 --threads 1");
  CHECK_HAS(outcome.out, "with 1 thread: compute and update are measured here, the rest is simulated",
            "network  940 Mbit/s", "machines  micro  step", " pay");
  check_refused(args("plan --network 5GbE"), {"--network must be 1GbE", "got '5GbE'"});
  check_refused(args("plan --machines 0"), {"--machines must be a whole number of at least 1, got 0"});
  check_refused(args("plan --seconds 0"), {"--seconds must be above 0"});
  check_refused(args("plan --micro 7"), {"--micro must divide"});
}

}  // namespace gradus::cli::test_plan
