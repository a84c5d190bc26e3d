// How products in bfloat16 are called: empty ones, refusals, kernels that want to be begun and ended.
#include <atomic>

#include "bf16_model.hpp"
#include "gradus/files/error.hpp"

namespace gradus::kernels::test_bf16_call {

using namespace vectors;
using bf16_model::at_each_unit;
using bf16_model::Bf16Operands;
using bf16_model::product;

std::atomic<int> begun{0}, idle{0};

TEST_CASE("without k a product is what it starts with, and without rows or columns nothing") {
  at_each_unit([](Bf16Unit unit) {
    const Bf16Kernel& kernel = bf16_kernel(unit);
    const Bf16Operands none(20, 40, 0);
    const PackedBf16 left = none.packed_left(), right = none.packed_right();
    const std::vector<float> old = values<float>(20 * 40), bias = values<float>(40);
    CHECK(same_bits(product(kernel, left, right), std::vector<float>(20 * 40, 0.0F)));
    CHECK(same_bits(product(kernel, left, right, {}, 3, old), old));
    const std::vector<float> c = product(kernel, left, right, {.bias = bias.data()});
    for (int64_t i = 0; i < 20; ++i)
      CHECK(same_bits(std::vector<float>(c.begin() + i * 40, c.begin() + (i + 1) * 40), bias));
    for (const auto& [m, n] : {std::array<int64_t, 2>{0, 5}, {5, 0}, {0, 0}}) {
      const Bf16Operands empty(m, n, 7);
      CHECK(product(kernel, empty.packed_left(), empty.packed_right()).empty());
    }
  });
}

TEST_CASE("the unit in use makes the product") {
  const Bf16Operands o(40, 40, 64);
  at_each_unit([&](Bf16Unit unit) {
    std::vector<float> c(static_cast<size_t>(o.m * o.n));
    multiply_bf16(o.packed_left(), o.packed_right(), c.data(), o.n);
    CHECK(same_bits(c, product(bf16_kernel(unit), o.packed_left(), o.packed_right())));
  });
}

TEST_CASE("operands that do not fit are refused") {
  const Bf16Operands o(3, 4, 5), other(3, 4, 6);
  const PackedBf16 left = o.packed_left(), right = o.packed_right();
  std::vector<float> c(12);
  CHECK_THROWS_WITH(
      multiply_bf16(left, other.packed_right(), c.data(), 4),
      Catch::Matchers::Equals("[multiply_bf16] needs a left operand (m, k) and a right one (k, n), "
                              "got a left one (3, 5) and a right one (6, 4)."));
  CHECK_THROWS_WITH(multiply_bf16(right, left, c.data(), 4),
                    ContainsSubstring("got a right one (5, 4) and a left one (3, 5)."));
  CHECK_THROWS_WITH(multiply_bf16(left, right, c.data(), 3),
                    ContainsSubstring("needs rows of c at least 4 apart, got 3."));
  CHECK_THROWS_WITH(multiply_bf16(left, right, c.data(), 4, {.from = c.data(), .bias = c.data()}),
                    ContainsSubstring("needs one start at most, got a sum and a bias."));
}

TEST_CASE("a kernel is begun before its first tile on a thread and ended after its last") {
  const Bf16Operands o(300, 100, 64);
  const PackedBf16 left = o.packed_left(), right = o.packed_right();
  const Bf16Unit unit = Bf16Unit::widened;
  Bf16Kernel kernel = bf16_kernel(unit);
  static thread_local int here = 0;
  kernel.begin = [] { ++begun, ++here; };
  kernel.end = [] { --begun, --here; };
  kernel.multiply = [](const Bf16Tiles& tiles) {
    if (here != 1) ++idle;
    bf16_kernel(unit).multiply(tiles);
  };
  for (const int count : {1, 3}) {
    const Threads threads(count);
    begun = idle = 0;
    CHECK(same_bits(product(kernel, left, right), o.product(bf16_model::dot_of(unit))));
    CHECK(begun == 0);
    CHECK(idle == 0);
  }
}

}  // namespace gradus::kernels::test_bf16_call
