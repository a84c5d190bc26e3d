// The program at the level `reference`: it trains, writes text and tells lessons by definitions.
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "program.hpp"

namespace gradus::cli::test_reference_level {

Outcome at_level(const std::string& level, const std::string& words) {
  return run_shell("export GRADUS_LEVEL=" + level + "; exec \"$GRADUS\" " + words);
}

TEST_CASE("training and sampling by definition write the text of the fast path") {
  Scratch scratch;
  const std::string text = scratch.text();
  std::string written[2];
  for (const bool plain : {false, true}) {
    const std::string level =
                          plain ? "reference" : std::string(kernels::isa_name(kernels::available_isas()[0])),
                      out = scratch.path(level);
    const Outcome trained =
        at_level(level, "train --preset tiny --block 8 --steps 5 --text " + text + " --out " + out);
    INFO(trained.err);
    CHECK(trained.code == 0);
    CHECK_HAS(read(out + "/metrics.jsonl"), plain ? ", reference" : "x86-64-" + level);
    written[plain] = at_level(level, "sample " + out + " --prompt to --tokens 30 --seed 1").out;
  }
  CHECK(written[0].size() > 30);
  CHECK(written[1] == written[0]);
}

TEST_CASE("a lesson by definition prints the notebook's numbers", "[needs.teach]") {
  CHECK(at_level("reference", "lesson two-masks --compare").code == 0);
}

TEST_CASE("info names the level, and a wrong one is refused with the list") {
  CHECK_HAS(at_level("reference", "info").out, ", reference (it can run ");
  const Outcome refused = at_level("refrence", "info");
  CHECK(refused.code != 0);
  CHECK_HAS(refused.err, "[level] GRADUS_LEVEL must be one that this machine has (",
            ", reference), got refrence.");
}

}  // namespace gradus::cli::test_reference_level
