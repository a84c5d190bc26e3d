// Choosing among the levels of the inner loops.
#include <algorithm>
#include <cstdlib>

#include "gradus/autograd/error.hpp"
#include "gradus/autograd/kernels/elementwise.hpp"
#include "vectors.hpp"

using namespace gradus::kernels;

TEST_CASE("levels are listed best first, and the one that is set is used", "[level]") {
  const auto levels = available_levels();
  REQUIRE(!levels.empty());
  CHECK(std::is_sorted(levels.rbegin(), levels.rend()));  // v2 < v3 < v4
  const char* asked = std::getenv("GRADUS_LEVEL");
  const auto* at_start = &level_loops<ElementwiseLoops<float>>();
  set_level(levels.front());
  const auto* best = &level_loops<ElementwiseLoops<float>>();
  CHECK((asked || at_start == best));
  for (size_t i = 0; i < levels.size(); ++i) {
    set_level(levels[i]);
    CHECK((&level_loops<ElementwiseLoops<float>>() == best) == (i == 0 || levels.size() == 1));
  }
  set_level(asked ? asked : levels.front());
  CHECK(&level_loops<ElementwiseLoops<float>>() == at_start);
}

TEST_CASE("a level that this machine cannot run is refused by name", "[level]") {
  std::string text;
  try {
    set_level("v9");
  } catch (const gradus::Error& e) {
    text = e.what();
  }
  CHECK_THAT(
      text, Catch::Matchers::ContainsSubstring("[level] GRADUS_LEVEL must be one that this machine can run"));
  CHECK_THAT(text, Catch::Matchers::ContainsSubstring("got v9"));
}
