// gradus lesson as a student calls it.
#include "cli/program.hpp"

namespace gradus::cli::test_lesson {

TEST_CASE("lesson lists the lessons and walks through each, and finds no difference and no leak") {
  const Outcome list = must("lesson");
  for (const char* name : {"causal-self-attention", "two-masks", "masked-self-attention",
                           "unscaled-attention", "attention-chapter", "stacked-heads"}) {
    CHECK_HAS(list.out, name);
    const Outcome walk = must("lesson", name);
    CHECK_HAS(walk.out, "tensor([");
    const Outcome checks = must("lesson", name, "--compare --leak-check");
    CHECK_HAS(checks.out, ", 0 different");
    CHECK_HAS(checks.out, "no output depends on a later token");
  }
  CHECK(call("lesson 004").out == call("lesson attention-chapter").out);
}

TEST_CASE("lesson compare sets all variants side by side") {
  const Outcome table = must("lesson compare");
  CHECK_HAS(table.out, "same      -1e9 on the scores");
  CHECK_HAS(table.out, "DIFFERENT no mask");
}

TEST_CASE("lesson --json prints a list, a lesson or the variants") {
  CHECK_HAS(call("lesson --json").out, "{\"kind\":\"list\"");
  CHECK_HAS(call("lesson 000 --json").out, "\"tokens\":[\"Your\",", "\"fill\":\"-inf\"");
  CHECK_HAS(call("lesson compare --json").out, "{\"kind\":\"variants\"");
}

TEST_CASE("lesson writes a page or a folder of pages, and replaces no other page") {
  const Scratch scratch;
  const std::string site = scratch.path("site"), page = scratch.path("two.html");
  must("lesson two-masks --html", page);
  CHECK(std::filesystem::file_size(page) > 10'000);
  for (int times = 0; times < 2; ++times) must("lesson --html-all", site);
  CHECK(std::filesystem::exists(site + "/stacked-heads.html"));
  for (const char* name : {"/compare.html", "/index.html"}) {
    std::ofstream(site + name) << "my own page";
    check_refused(args("lesson --html-all", site), {"[lesson] --html-all must be a new file", name});
    std::filesystem::remove(site + name);
  }
}

TEST_CASE("a lesson that there is not, and checks without a lesson, are one line and exit 2") {
  for (const std::vector<std::string>& arguments :
       {args("lesson nope"), args("lesson compare --leak-check"), args("lesson 000 --json --compare"),
        args("lesson 000 --html a.html --json"), args("lesson 000 --html a.txt"),
        args("lesson --html a.html"), args("lesson 000 --html-all a"), args("lesson --compare")}) {
    const Outcome outcome = run_program(arguments);
    CHECK(outcome.code == 2);
    CHECK(outcome.out.empty());
    CHECK(lines_of(outcome.err).size() == 1);
    CHECK_HAS(outcome.err, "[lesson]");
  }
}

}  // namespace gradus::cli::test_lesson
