// gradus conform as a user and a script call it.
#include <nlohmann/json.hpp>

#include "annexes/cases/conform/conform_cases.hpp"
#include "cli/program.hpp"

namespace gradus::cli::test_conform_verb {

using namespace testing;
using nlohmann::json;

const json kDone = {{"event", "done"}, {"passed", 1}, {"failed", 0}, {"by_convention", 0}};

json wrong_case() {
  json c = product_case();
  c["grads"]["x"]["data"][1] = -10.5;
  return c;
}

TEST_CASE("conform runs PyTorch's files") {
  const Outcome samples = call("conform", (kConformFiles / "opinfo.jsonl").string(), "--json");
  CHECK(samples.code == 0);
  CHECK(samples.err.empty());
  CHECK(json::parse(samples.out) ==
        json({{"event", "done"}, {"passed", 377}, {"failed", 0}, {"by_convention", 1}}));
  const Outcome errors = call("conform", (kConformFiles / "errors.jsonl").string());
  CHECK(errors.code == 0);
  CHECK(errors.out == "35 cases passed, 0 of them by convention; 0 failed\n");
  const Outcome folder = call("conform", kConformFiles.string(), "--op embedding");
  CHECK(folder.code == 0);
  CHECK(folder.out == "6 cases passed, 0 of them by convention; 0 failed\n");
}

TEST_CASE("conform says which cases differ by convention, and why") {
  const Outcome outcome = call("conform", (kConformFiles / "opinfo.jsonl").string(), "--op layer_norm");
  const std::vector<std::string> lines = lines_of(outcome.out);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].starts_with("ok    layer_norm/0007 differs by convention: x - mean is taken before"));
  CHECK(lines[1] == "6 cases passed, 1 of them by convention; 0 failed");
}

TEST_CASE("conform tells what differs, and exits with 3") {
  const Scratch scratch;
  const std::string file =
      scratch.file("cases.jsonl", product_case().dump() + "\n" + wrong_case().dump() + "\n");
  const Outcome people = call("conform", file);
  CHECK(people.code == 3);
  CHECK(people.out ==
        "FAIL  mul/small (" + file +
            ":2) contiguous\n"
            "      grad x: element [1] must be -10.5 within 1e-12 max(1, |expected|), got -10; 1 of 2 "
            "differ, the worst by 0.5\n"
            "      recorded grad x: element [1] must be -10.5 within 1e-12 max(1, |expected|), got -10; 1 "
            "of 2 differ, the worst by 0.5\n"
            "1 cases passed, 0 of them by convention; 1 failed\n");
  const Outcome machine = call("conform", file, "--json");
  CHECK(machine.code == 3);
  const std::vector<std::string> lines = lines_of(machine.out);
  REQUIRE(lines.size() == 2);
  const json failed = json::parse(lines[0]);
  CHECK(failed["id"] == "mul/small");
  CHECK(failed["op"] == "mul");
  CHECK(failed["file"] == file);
  CHECK(failed["line"] == 2);
  CHECK(failed["run"] == "contiguous");
  CHECK(failed["differences"][0]["what"] == "grad x");
  json done = kDone;
  done["failed"] = 1;
  CHECK(json::parse(lines[1]) == done);
}

TEST_CASE("what conform cannot run is one line and exit 2") {
  const Scratch scratch;
  check_refused({"conform"}, {"there must be a DIR|FILE, got none"});
  check_refused({"conform", scratch.path("none.jsonl")}, {"No such file"});
  check_refused({"conform", scratch.path(".")}, {"must hold files called *.jsonl"});
  check_refused({"conform", scratch.file("a.jsonl", "")}, {"a.jsonl must have a case to run, got none"});
  check_refused(args("conform", kConformFiles.string(), "--op softmx"), {"got 'softmx'"});
  check_refused(args("conform", (kConformFiles / "errors.jsonl").string(), "--op sum"), {"got none of sum"});
  json c = product_case();
  c["op"] = "mull";
  check_refused({"conform", scratch.file("b.jsonl", product_case().dump() + "\n" + c.dump())},
                {"b.jsonl:2: op must be a known operation, got 'mull'"});
  check_refused({"conform", scratch.file("c.jsonl", "\n{")}, {"c.jsonl:2 must be JSON"});
}

}  // namespace gradus::cli::test_conform_verb
