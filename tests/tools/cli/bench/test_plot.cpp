// gradus plot: losses of runs, as a picture.
#include <filesystem>

#include "catch.hpp"
#include "tools/cli/program.hpp"
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

TEST_CASE("a plot replaces an earlier one, and nothing else unless that is asked for") {
  const Scratch scratch;
  const std::string run =
      scratch.file("metrics.jsonl", "{\"event\":\"eval\",\"step\":1,\"val_loss\":2.5,\"elapsed_s\":9}\n");
  for (const std::string& mine :
       {std::string("a note"), std::string(""),
        std::string("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"9\">\n</svg>\n")}) {
    const std::string picture = scratch.file("mine.svg", mine);
    check_refused({"plot", run, "--out", picture},
                  {"--out must be a new file or an earlier plot", "mine.svg", "--overwrite replaces it"});
    CHECK(read(picture) == mine);
    REQUIRE(run_program({"plot", run, "--out", picture, "--overwrite"}).code == 0);
    CHECK_THAT(read(picture), ContainsSubstring("loss against minutes"));
    REQUIRE(run_program({"plot", run, "--out", picture, "--by", "steps"}).code == 0);
    CHECK_THAT(read(picture), ContainsSubstring("loss against steps"));
  }
  for (const char* name : {"x.png", "svg", "x.svg.txt", ".svg"})
    for (const char* flag : {"--quiet", "--overwrite"})
      check_refused({"plot", run, "--out", scratch.path(name), flag}, {"--out must end in .svg", name});
  check_refused({"bench", "--scaling", "--quick", "--plot", scratch.path("x.png")},
                {"--plot must end in .svg"});
  check_refused({"bench", "--scaling", "--quick", "--plot", scratch.file("my.svg", "a note")},
                {"--plot must be a new file or an earlier plot", "name another"});
  CHECK(contents(std::filesystem::path(run).parent_path()).size() == 3);
}
