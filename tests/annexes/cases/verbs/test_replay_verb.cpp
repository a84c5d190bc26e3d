// gradus replay as a user and a script call it.
#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "test_files.hpp"

namespace gradus::cli::test_replay_verb {

using nlohmann::json;

const std::filesystem::path kFiles = testing::test_files() / "annexes/cases/replay";
const std::string kExample = (kFiles / "example.json").string();

/// The example with a mask that hides each token from itself.
std::string broken(const Scratch& scratch) {
  json cases = json::parse(read(kExample));
  cases[0]["steps"][5]["args"]["diagonal"] = 0;
  return scratch.file("broken.json", cases.dump());
}

TEST_CASE("replay runs the notebooks' file") {
  const Outcome outcome = call("replay", (kFiles / "golden.json").string(), "--json");
  CHECK(outcome.err.empty());
  const std::vector<std::string> lines = lines_of(outcome.out);
  CHECK(lines.size() == 369);
  const json done = json::parse(lines.back());
  CHECK(done["event"] == "done");
  CHECK(done["passed"].get<int64_t>() + done["failed"].get<int64_t>() == 368);
  CHECK(outcome.code == (done["failed"] == 0 ? 0 : 3));
  for (size_t i = 0; i + 1 < lines.size(); ++i) {
    const json check = json::parse(lines[i]);
    CHECK(check.size() == 8);
    CHECK((check["passed"] == true || check["check"] == "text"));  // the last digit needs fused multiply-adds
    CHECK(check["message"].get<std::string>().empty() == check["passed"].get<bool>());
  }
}

TEST_CASE("replay tells people how each case went") {
  const Outcome outcome = call("replay", kExample);
  CHECK(outcome.code == 0);
  CHECK(outcome.out ==
        "ok    causal weights: 13 checks passed\n1 cases passed, 0 failed; 13 checks passed, 0 failed\n");
  CHECK(lines_of(call("replay", kExample, "--quiet").out).size() == 1);
  CHECK(call("replay", kExample, "--case", std::string("causal weights")).out == outcome.out);
}

TEST_CASE("the first step that differs stands before what follows from it, and the exit code is 3") {
  const Scratch scratch;
  const std::string file = broken(scratch);
  const Outcome outcome = call("replay", file);
  CHECK(outcome.code == 3);
  const std::vector<std::string> lines = lines_of(outcome.out);
  REQUIRE(lines.size() == 8);
  CHECK(lines[0] == "FAIL  causal weights: 7 checks passed, 6 failed");
  CHECK(lines[1].starts_with(
      "  >>  first difference: steps[5] triu -> mask, value: element [0, 0] must be 0 within 1e-06 max(1, "
      "|expected|), got 1"));
  CHECK(lines[3].starts_with(
      "      after it: steps[6] masked_fill -> masked, value: element [0, 0] must be 0.2822"));
  CHECK(lines.back() == "0 cases passed, 1 failed; 7 checks passed, 6 failed");

  const Outcome machine = call("replay", file, "--json");
  CHECK(machine.code == 3);
  const json first = json::parse(lines_of(machine.out)[7]);
  CHECK(first["step"] == 5);
  CHECK(first["check"] == "value");
  CHECK(first["passed"] == false);
  CHECK(first["worst"] == 1.0);
  CHECK(json::parse(lines_of(machine.out).back()) == json({{"event", "done"}, {"passed", 7}, {"failed", 6}}));
}

TEST_CASE("what cannot be replayed is one line and exit 2") {
  const Scratch scratch;
  check_refused({"replay"}, {"there must be a FILE, got none"});
  check_refused({"replay", scratch.path("none.json")}, {"No such file"});
  check_refused({"replay", scratch.path(".")}, {"it is a folder"});
  check_refused({"replay", scratch.file("a.json", "[{]")},
                {"a.json must be JSON, got ']' at line 1, column 3"});
  check_refused({"replay", scratch.file("b.json", "[]")},
                {"b.json must have something to check, got 0 cases"});
  check_refused({"replay", scratch.file("c.json", R"([{"name": "a\nb", "steps": [{"op": "sum"}]}])")},
                {"case 'a\\nb', steps[0] (sum)"});
  check_refused(args("replay", kExample, "--case other"), {"got 'other'"});
  json cases = json::parse(read(kExample));
  cases[0]["steps"][3]["in"] = {"q", "q"};
  check_refused({"replay", scratch.file("d.json", cases.dump())},
                {"steps[3] (matmul) the last dim of a must equal"});
}

}  // namespace gradus::cli::test_replay_verb
