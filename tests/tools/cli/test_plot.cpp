// gradus plot: losses of runs, as a picture.
#include "catch.hpp"
#include "program.hpp"
#include "train/small_model.hpp"

using namespace gradus::cli;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("a run that was trained is drawn") {
  const Scratch scratch;
  const std::string text = scratch.file("text.txt", gradus::train::small_text()), run = scratch.path("run"),
                    picture = scratch.path("loss.svg");
  REQUIRE(run_program({"train", "--preset", "tiny", "--steps", "4", "--text", text, "--out", run}).code == 0);
  const Outcome drawn = run_program({"plot", run, run + "/metrics.jsonl", "--out", picture});
  CHECK(drawn.code == 0);
  CHECK(drawn.out == "");
  CHECK_THAT(drawn.err, ContainsSubstring("wrote   ") && ContainsSubstring("loss.svg"));
  CHECK_THAT(read(picture), ContainsSubstring("<svg") && ContainsSubstring("run/metrics.jsonl: "));
  CHECK(run_program({"plot", run, "--out", picture, "--by", "steps", "--log", "--quiet"}).err == "");
  CHECK_THAT(read(picture), ContainsSubstring("loss against steps") && ContainsSubstring(">run: "));

  check_refused({"plot", run, "--out", picture, "--by", "minute"}, {"--by must be", "did you mean minutes?"});
  check_refused({"plot", scratch.path("none"), "--out", picture}, {"none"});
  check_refused({"plot", run, "--out", ""}, {"--out must be a path, got none"});
  check_refused({"plot", text, "--out", picture}, {"text.txt:1 must be JSON"});
}
