// gradus lesson as a student calls it.
#include <filesystem>
#include <fstream>

#include "catch.hpp"
#include "tools/cli/program.hpp"

namespace test_lesson {

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

TEST_CASE("lesson --json prints a list, a lesson or the variants") {
  CHECK_THAT(run_program({"lesson", "--json"}).out, ContainsSubstring("{\"kind\":\"list\""));
  CHECK_THAT(run_program({"lesson", "000", "--json"}).out,
             ContainsSubstring("\"tokens\":[\"Your\",") && ContainsSubstring("\"fill\":\"-inf\""));
  CHECK_THAT(run_program({"lesson", "compare", "--json"}).out, ContainsSubstring("{\"kind\":\"variants\""));
}

TEST_CASE("lesson writes a page or a folder of pages, and replaces no other page") {
  const Scratch scratch;
  const std::string site = scratch.path("site"), page = scratch.path("two.html");
  CHECK(run_program({"lesson", "two-masks", "--html", page}).code == 0);
  CHECK(std::filesystem::file_size(page) > 10'000);
  for (int times = 0; times < 2; ++times) CHECK(run_program({"lesson", "--html-all", site}).code == 0);
  CHECK(std::filesystem::exists(site + "/stacked-heads.html"));
  std::ofstream(site + "/index.html") << "my own page";
  check_refused({"lesson", "--html-all", site},
                {"[lesson] --html-all must be a folder without an index.html"});
}

TEST_CASE("a lesson that there is not, and checks without a lesson, are one line and exit 2") {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"lesson", "nope"},
                                                    {"lesson", "compare", "--leak-check"},
                                                    {"lesson", "000", "--json", "--compare"},
                                                    {"lesson", "000", "--html", "a.html", "--json"},
                                                    {"lesson", "000", "--html", "a.txt"},
                                                    {"lesson", "--html", "a.html"},
                                                    {"lesson", "000", "--html-all", "a"},
                                                    {"lesson", "--compare"}}) {
    const Outcome outcome = run_program(arguments);
    CHECK(outcome.code == 2);
    CHECK(outcome.out.empty());
    CHECK(lines_of(outcome.err).size() == 1);
    CHECK_THAT(outcome.err, ContainsSubstring("[lesson]"));
  }
}

}  // namespace test_lesson
