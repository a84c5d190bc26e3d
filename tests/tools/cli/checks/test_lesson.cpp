// gradus lesson as a student calls it.
#include "catch.hpp"
#include "tools/cli/program.hpp"

using namespace gradus::cli;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("lesson lists the lessons and walks through each, and finds no difference and no leak") {
  const Outcome list = run_program({"lesson"});
  CHECK(list.code == 0);
  for (const char* name : {"causal-self-attention", "two-masks", "masked-self-attention",
                           "unscaled-attention", "attention-chapter", "stacked-heads"}) {
    CHECK_THAT(list.out, ContainsSubstring(name));
    const Outcome walk = run_program({"lesson", name});
    CHECK(walk.code == 0);
    CHECK_THAT(walk.out, ContainsSubstring("tensor(["));
    const Outcome checks = run_program({"lesson", name, "--compare", "--leak-check"});
    CHECK(checks.code == 0);
    CHECK_THAT(checks.out, ContainsSubstring(", 0 different"));
    CHECK_THAT(checks.out, ContainsSubstring("no output depends on a later token"));
  }
  CHECK(run_program({"lesson", "004"}).out == run_program({"lesson", "attention-chapter"}).out);
}

TEST_CASE("lesson compare sets all variants side by side") {
  const Outcome table = run_program({"lesson", "compare"});
  CHECK(table.code == 0);
  CHECK_THAT(table.out, ContainsSubstring("same      -1e9 on the scores"));
  CHECK_THAT(table.out, ContainsSubstring("DIFFERENT no mask"));
}

TEST_CASE("a lesson that there is not, and checks without a lesson, are one line and exit 2") {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"lesson", "nope"},
                                                    {"lesson", "compare", "--leak-check"},
                                                    {"lesson", "--compare"}}) {
    const Outcome outcome = run_program(arguments);
    CHECK(outcome.code == 2);
    CHECK(outcome.out.empty());
    CHECK(lines_of(outcome.err).size() == 1);
    CHECK_THAT(outcome.err, ContainsSubstring("[lesson]"));
  }
}
