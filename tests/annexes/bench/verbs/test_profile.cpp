// train --profile, as a user runs it.
#include <nlohmann/json.hpp>

#include "cli/program.hpp"

namespace gradus::cli::test_profile {

using nlohmann::json;

TEST_CASE("train --profile writes a trace of a few steps, evaluations left out") {
  const Scratch scratch;
  const std::string file = scratch.path("trace.json");
  const Outcome outcome = must("train --text", scratch.text(), "--preset tiny --steps 8 --eval-every 3 --out",
                               scratch.path("run"), "--profile", file, "--profile-after 1 --profile-steps 4");
  CHECK_HAS(outcome.err, "profile " + file);
  int64_t steps = 0, losses = 0;
  const json trace = json::parse(read(file));
  for (const json& e : trace.at("traceEvents")) {
    steps += e.at("name") == "step" ? 1 : 0;
    losses += e.at("name") == "cross_entropy" ? 1 : 0;
  }
  CHECK(steps == 4);
  CHECK(losses == 8);  // forward and backward of each step, none of the evaluation after step 3
}

TEST_CASE("a profile that cannot be written is refused before anything is") {
  const Scratch scratch;
  const std::string text = scratch.text(), out = scratch.path("run");
  const auto refused = [&](const std::vector<std::string>& flags, const char* why) {
    check_refused(args("train --text", text, "--preset tiny --out", out, flags), {why});
  };
  refused({"--profile", scratch.path("none/t.json")}, "--profile must be a file in a folder that exists");
  refused({"--profile", scratch.path(".")}, "--profile must be a new file or an earlier one of its kind");
  refused(args("--profile-steps 0"), "--profile-steps must be a whole number of at least 1, got 0");
  refused(args("--profile-after -1"), "--profile-after must be a whole number of at least 0, got -1");
}

}  // namespace gradus::cli::test_profile
