// The kernels of bf16/isa/ on a processor that lacks their instructions (emulated_units.hpp): as compiled,
// with the bits that the manual gives them. Where the processor has a unit, test_bf16_product runs it.
#include "bf16_model.hpp"
#include "emulated_units.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"

namespace gradus::kernels::test_bf16_emulated {

using namespace vectors;
using bf16_model::Bf16Operands;
using bf16_model::dot_of;
using bf16_model::product;

/// Is the unit's kernel built, its instruction missing here, and all else that it needs there?
bool is_to_be_emulated(Bf16Unit unit) {
  const bool built = bf16_kernel(unit).widen == nullptr;
  const bool has_registers = unit != Bf16Unit::avx512_bf16 || isa_name(available_isas().front()) == "v4";
  return emulated_units::can_emulate() && built && has_registers && !bf16_model::has(unit);
}

/// Calls body(unit) for each of them.
template <class F>
void at_each_emulated_unit(F&& body) {
  for (const Bf16Unit unit : {Bf16Unit::avx512_bf16, Bf16Unit::amx}) {
    if (!is_to_be_emulated(unit)) continue;
    INFO("unit " << isa_name(unit));
    const emulated_units::Emulation emulation;
    body(unit);
    CHECK(emulation.executed() > 0);
    CHECK(emulation.is_released());
  }
  SUCCEED();
}

TEST_CASE("a unit's own kernel has the bits of its model at every edge of tiles") {
  at_each_emulated_unit([](Bf16Unit unit) {
    for (const int64_t m : {1, 17, 50})
      for (const int64_t n : {1, 33, 49, 80})
        for (const int64_t k : {1, 32, 70}) {
          INFO("m " << m << ", n " << n << ", k " << k);
          const Bf16Operands o(m, n, k);
          CHECK(same_bits(product(bf16_kernel(unit), o.packed_left(), o.packed_right(), {}, 3),
                          o.product(dot_of(unit))));
        }
  });
}

TEST_CASE("a unit's own kernel goes on from sums and a bias, along a long k, on any number of threads") {
  at_each_emulated_unit([](Bf16Unit unit) {
    for (const auto& [m, n, k] : {std::array<int64_t, 3>{33, 33, 600}, {20, 70, 1100}, {70, 20, 33}}) {
      const Bf16Operands o(m, n, k);
      const PackedBf16 left = o.packed_left(), right = o.packed_right();
      const std::vector<float> old = values<float>(m * n, 5, 9), bias = values<float>(n, 4, 8);
      const auto from_old = o.product(dot_of(unit), [&](int64_t i, int64_t j) { return old[i * o.n + j]; });
      const auto from_bias = o.product(dot_of(unit), [&](int64_t, int64_t j) { return bias[j]; });
      for (const int count : {1, 3}) {
        const Threads threads(count);
        CHECK(same_bits(product(bf16_kernel(unit), left, right, {}, 5, old), from_old));
        CHECK(same_bits(product(bf16_kernel(unit), left, right, {.bias = bias.data()}, 5, old), from_bias));
      }
    }
  });
}

}  // namespace gradus::kernels::test_bf16_emulated
