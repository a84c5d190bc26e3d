// The choice of instruction sets: levels of the inner loops.
#include <algorithm>
#include <cstdlib>

#include "gradus/autograd/kernels/elementwise/elementwise.hpp"
#include "vectors.hpp"

namespace gradus::kernels::test_isa {

TEST_CASE("levels are listed best first, and the one that is set is used", "[level]") {
  const auto& levels = available_isas();
  REQUIRE(!levels.empty());
  CHECK(std::is_sorted(levels.begin(), levels.end(),
                       [](Level a, Level b) { return isa_name(a) > isa_name(b); }));  // v4, v3, v2, reference
  const char* asked = std::getenv("GRADUS_LEVEL");
  const auto* at_start = &isa_loops<ElementwiseLoops<float>>();
  set_isa(isa_name(levels.front()));
  const auto* best = &isa_loops<ElementwiseLoops<float>>();
  CHECK((asked || at_start == best));
  for (size_t i = 0; i < levels.size(); ++i) {
    set_isa(isa_name(levels[i]));
    CHECK((&isa_loops<ElementwiseLoops<float>>() == best) == (i == 0 || levels.size() == 2));
  }
  set_isa(asked ? asked : isa_name(levels.front()));
  CHECK(&isa_loops<ElementwiseLoops<float>>() == at_start);
}

TEST_CASE("a level that this machine cannot run is refused by name", "[level]") {
  CHECK_THROWS_WITH(set_isa("v9"), ContainsAll("[level] GRADUS_LEVEL must be one that this machine has",
                                               ", reference), got v9"));
}

}  // namespace gradus::kernels::test_isa
