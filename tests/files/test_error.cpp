#include "catch.hpp"
#include "gradus/files/error.hpp"

namespace gradus::test_error {

std::string as_flag(std::string_view name) { return concat("--", name); }

TEST_CASE("an error shows its options in backquotes, or as the program calls them") {
  const Option lr{"lr"};
  const Error error("[train] ", Option{"min_lr"}, " must be from 0 to ", lr, " (", 0.5, "), got `x`.");
  CHECK(std::string(error.what()) == "[train] `min_lr` must be from 0 to `lr` (0.5), got `x`.");
  CHECK(error.message(as_flag) == "[train] --min_lr must be from 0 to --lr (0.5), got `x`.");
  const RunError longer(error, " The state after step ", 3, " can be resumed.");
  CHECK(longer.message(as_flag) ==
        "[train] --min_lr must be from 0 to --lr (0.5), got `x`. The state after step 3 can be resumed.");
  CHECK(Error("no option").message(as_flag) == "no option");
}

TEST_CASE("words are listed with an or before the last") {
  CHECK(listed(std::vector<std::string>{}).empty());
  CHECK(listed(std::vector<std::string>{"a"}) == "a");
  CHECK(listed(std::vector<std::string>{"a", "b", "c"}) == "a, b or c");
}

}  // namespace gradus::test_error
