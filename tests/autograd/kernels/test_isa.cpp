// The choice of instruction sets: levels of the inner loops, and units that multiply bfloat16.
#include <algorithm>
#include <cstdlib>

#include "bf16_model.hpp"
#include "gradus/autograd/kernels/elementwise/elementwise.hpp"
#include "gradus/files/error.hpp"
#include "vectors.hpp"

namespace gradus::kernels::test_isa {

template <class Isa>
std::string refusal(std::string_view name) {
  try {
    set_isa<Isa>(name);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST_CASE("levels are listed best first, and the one that is set is used", "[level]") {
  const auto& levels = available_isas();
  REQUIRE(!levels.empty());
  CHECK(std::is_sorted(levels.begin(), levels.end(),
                       [](Level a, Level b) { return isa_name(a) > isa_name(b); }));  // v4, v3, v2
  const char* asked = std::getenv("GRADUS_LEVEL");
  const auto* at_start = &isa_loops<ElementwiseLoops<float>>();
  set_isa(isa_name(levels.front()));
  const auto* best = &isa_loops<ElementwiseLoops<float>>();
  CHECK((asked || at_start == best));
  for (size_t i = 0; i < levels.size(); ++i) {
    set_isa(isa_name(levels[i]));
    CHECK((&isa_loops<ElementwiseLoops<float>>() == best) == (i == 0 || levels.size() == 1));
  }
  set_isa(asked ? asked : isa_name(levels.front()));
  CHECK(&isa_loops<ElementwiseLoops<float>>() == at_start);
}

TEST_CASE("units are listed best first, widened is everywhere, and the one that is set is used") {
  const std::vector<Bf16Unit> units = available_isas<Bf16Unit>();
  CHECK(std::count(units.begin(), units.end(), Bf16Unit::widened) == 1);
  const auto place = [&](Bf16Unit unit) { return std::find(units.begin(), units.end(), unit); };
  if (bf16_model::has(Bf16Unit::amx)) CHECK(place(Bf16Unit::amx) == units.begin());
  if (bf16_model::has(Bf16Unit::amx) && bf16_model::has(Bf16Unit::avx512_bf16))
    CHECK(place(Bf16Unit::widened) < place(Bf16Unit::avx512_bf16));
  const char* asked = std::getenv("GRADUS_UNIT");
  const Bf16Unit at_start = isa_in_use<Bf16Unit>();
  CHECK((asked ? isa_name(at_start) == asked : at_start == units.front()));
  for (const Bf16Unit unit : units) {
    set_isa<Bf16Unit>(isa_name(unit));
    CHECK(isa_in_use<Bf16Unit>() == unit);
  }
  set_isa<Bf16Unit>(isa_name(at_start));
}

TEST_CASE("a level or a unit that this machine lacks is refused by name") {
  CHECK_HAS(refusal<Level>("v9"), "[level] GRADUS_LEVEL must be one that this machine has", "got v9");
  bf16_model::name_missing_units();
  for (const Bf16Unit unit : {Bf16Unit::avx512_bf16, Bf16Unit::amx})
    if (!bf16_model::has(unit))
      CHECK_HAS(refusal<Bf16Unit>(isa_name(unit)), "got " + std::string(isa_name(unit)));
  const std::string text = refusal<Bf16Unit>("abacus");
  CHECK_HAS(text, "[unit] GRADUS_UNIT must be one that this machine has (");
  CHECK_HAS(text, "widened");
  CHECK_THAT(text, Catch::Matchers::EndsWith("), got abacus."));
}

}  // namespace gradus::kernels::test_isa
