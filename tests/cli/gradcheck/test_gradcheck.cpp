// gradus gradcheck as a command.
#include <nlohmann/json.hpp>

#include "cli/program.hpp"

namespace gradus::cli::test_gradcheck {

using nlohmann::json;

TEST_CASE("gradcheck --all --json gives an object an op and the sums at the end") {
  const Outcome outcome = must("gradcheck --all --json");
  const std::vector<std::string> lines = lines_of(outcome.out);
  REQUIRE(lines.size() > 50);
  int64_t checks = 0;
  for (size_t i = 0; i + 1 < lines.size(); ++i) {
    const json line = json::parse(lines[i]);
    CHECK(line.at("passed") == true);
    CHECK(line.at("worst") <= 1.0);
    CHECK(line.at("checks") > 0);
    checks += line.at("checks").get<int64_t>();
  }
  const json done = json::parse(lines.back());
  CHECK(done.at("event") == "done");
  CHECK(done.at("passed") == lines.size() - 1);
  CHECK(done.at("failed") == 0);
  CHECK(done.at("checks") == checks);
  CHECK(checks >= 15000);
}

TEST_CASE("the columns of gradcheck end below their headings") {
  for (const char* order : {"1", "2"}) {
    const Outcome outcome = must("gradcheck --op mul --order", order);
    const std::vector<std::string> lines = lines_of(outcome.out);
    REQUIRE(lines.size() == 3);
    CHECK(lines[0].starts_with("      op "));
    CHECK(lines[0].ends_with(" seconds"));
    CHECK(lines[1].starts_with("ok    mul "));
    CHECK(lines[1].size() == lines[0].size());
  }
}

TEST_CASE("gradcheck refuses what it does not know") {
  const auto refused = [](const std::vector<std::string>& arguments, const std::string& words) {
    check_refused(args("gradcheck", arguments), {words});
  };
  refused(args("--op nope"), "--op must be the name of an op, got 'nope'");
  refused(args("--order 3"), "--order must be 1 or 2, got 3");
  refused(args("--op add --all"), "must not come together, got 2");
  refused(args("--model nowhere"), "nowhere");
  const std::string needed = "--html must come with --op, --model or --command, got none of them.";
  refused(args("--html page.html"), needed);
  refused(args("--html page.html --all"), needed);
}

}  // namespace gradus::cli::test_gradcheck
