// Choosing among the units that multiply bfloat16.
#include "gradus/autograd/kernels/bf16_unit.hpp"

#include <algorithm>
#include <cstdlib>

#include "bf16_model.hpp"
#include "gradus/autograd/error.hpp"

using namespace gradus::kernels;

namespace {

std::string refusal(std::string_view name) {
  try {
    set_unit(name);
  } catch (const gradus::Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("units are listed best first, widened is everywhere, and the one that is set is used") {
  const std::vector<Unit> units = available_units();
  CHECK(std::count(units.begin(), units.end(), Unit::widened) == 1);
  const auto place = [&](Unit unit) { return std::find(units.begin(), units.end(), unit); };
  if (bf16_model::has(Unit::amx)) CHECK(place(Unit::amx) == units.begin());
  if (bf16_model::has(Unit::amx) && bf16_model::has(Unit::avx512_bf16))
    CHECK(place(Unit::widened) < place(Unit::avx512_bf16));
  const char* asked = std::getenv("GRADUS_UNIT");
  const Unit at_start = unit_in_use();
  CHECK((asked ? unit_name(at_start) == asked : at_start == units.front()));
  for (const Unit unit : units) {
    set_unit(unit_name(unit));
    CHECK(unit_in_use() == unit);
  }
  set_unit(unit_name(at_start));
}

TEST_CASE("a unit that this machine lacks is refused by name") {
  bf16_model::name_missing_units();
  for (const Unit unit : {Unit::avx512_bf16, Unit::amx})
    if (!bf16_model::has(unit))
      CHECK_THAT(refusal(unit_name(unit)),
                 Catch::Matchers::ContainsSubstring("got " + std::string(unit_name(unit))));
  const std::string text = refusal("abacus");
  CHECK_THAT(text,
             Catch::Matchers::ContainsSubstring("[unit] GRADUS_UNIT must be one that this machine has ("));
  CHECK_THAT(text, Catch::Matchers::ContainsSubstring("widened"));
  CHECK_THAT(text, Catch::Matchers::EndsWith("), got abacus."));
}
