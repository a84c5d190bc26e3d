// The choice of units that multiply bfloat16.
#include <algorithm>
#include <cstdlib>

#include "bf16_model.hpp"
#include "gradus/files/error.hpp"

namespace gradus::kernels::test_units {

std::string refusal(std::string_view name) {
  try {
    set_isa<Bf16Unit>(name);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
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

TEST_CASE("a unit that this machine lacks is refused by name") {
  bf16_model::name_missing_units();
  for (const Bf16Unit unit : {Bf16Unit::avx512_bf16, Bf16Unit::amx})
    if (!bf16_model::has(unit)) CHECK_HAS(refusal(isa_name(unit)), "got " + std::string(isa_name(unit)));
  const std::string text = refusal("abacus");
  CHECK_HAS(text, "[unit] GRADUS_UNIT must be one that this machine has (");
  CHECK_HAS(text, "widened");
  CHECK_THAT(text, Catch::Matchers::EndsWith("), got abacus."));
}

}  // namespace gradus::kernels::test_units
