// The program at the level `reference`: it trains, writes text and tells lessons by definitions.
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "program.hpp"

namespace gradus::cli::test_reference_level {

std::string at_level(const std::string& level, const std::string& words) {
  return must_run(split(words), {.environment = {"GRADUS_LEVEL=" + level}}).out;
}

TEST_CASE("training and sampling by definition write the text of the fast path") {
  Scratch scratch;
  const std::string text = scratch.text();
  std::string written[2];
  for (const bool plain : {false, true}) {
    const std::string level =
                          plain ? "reference" : std::string(kernels::isa_name(kernels::available_isas()[0])),
                      out = scratch.path(level);
    at_level(level, "train --preset tiny --block 8 --steps 5 --text " + text + " --out " + out);
    CHECK_HAS(read(out + "/metrics.jsonl"), plain ? ", reference" : "x86-64-" + level);
    written[plain] = at_level(level, "sample " + out + " --prompt to --tokens 30 --seed 1");
  }
  CHECK(written[0].size() > 30);
  CHECK(written[1] == written[0]);
}

TEST_CASE("a lesson by definition prints the notebook's numbers", "[needs.teach]") {
  at_level("reference", "lesson two-masks --compare");
}

TEST_CASE("info names the level, and a wrong one is refused with the list") {
  CHECK_HAS(at_level("reference", "info"), ", reference (it can run ");
  const Outcome refused = run_program({"info"}, {.environment = {"GRADUS_LEVEL=refrence"}});
  CHECK(refused.code != 0);
  CHECK_HAS(refused.err, "[level] GRADUS_LEVEL must be one that this machine has (",
            ", reference), got refrence.");
}

}  // namespace gradus::cli::test_reference_level
