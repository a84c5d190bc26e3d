#include "gradus/autograd/kernels/elementwise/elementwise.hpp"

#include "catch.hpp"
#include "vectors.hpp"

namespace gradus::kernels::test_bfloat16 {

using namespace vectors;

uint16_t bits_of(float x) {
  bfloat16 rounded{};
  to_bfloat16(1, &rounded, &x);
  return rounded.bits;
}

float value_of(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

TEST_CASE("bfloat16 is the nearest of 16 bits, the even one at half") {
  CHECK(bits_of(1.0F) == 0x3F80);
  CHECK(bits_of(-2.5F) == 0xC020);
  CHECK(bits_of(1.0F + 0x1p-8F) == 0x3F80);             // half way: down to the even one
  CHECK(bits_of(1.0F + 0x3p-8F) == 0x3F82);             // half way: up to the even one
  CHECK(bits_of(1.0F + 0x1p-8F + 0x1p-20F) == 0x3F81);  // above half
  CHECK(bits_of(-0.0F) == 0x8000);
  CHECK(bits_of(0x1p-133F) == 0x0001);  // subnormal
  CHECK(bits_of(std::numeric_limits<float>::max()) == 0x7F80);
  CHECK(bits_of(std::numeric_limits<float>::infinity()) == 0x7F80);
  const uint32_t nan_that_would_round_to_infinity = 0x7F800001;
  CHECK(std::isnan(value_of(bits_of(std::bit_cast<float>(nan_that_would_round_to_infinity)))));
}

TEST_CASE("every value of 16 bits comes back as it was") {
  std::vector<bfloat16> all(0x10000), back(all.size());
  std::vector<float> wide(all.size());
  for (size_t i = 0; i < all.size(); ++i) all[i].bits = static_cast<uint16_t>(i);
  from_bfloat16(static_cast<int64_t>(all.size()), wide.data(), all.data());
  to_bfloat16(static_cast<int64_t>(all.size()), back.data(), wide.data());
  int wrong = 0;
  for (size_t i = 0; i < all.size(); ++i)
    wrong += std::isnan(wide[i]) ? !std::isnan(value_of(back[i].bits)) : back[i].bits != all[i].bits;
  CHECK(wrong == 0);
}

}  // namespace gradus::kernels::test_bfloat16
