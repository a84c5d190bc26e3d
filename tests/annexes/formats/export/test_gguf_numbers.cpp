// float16 beside its definition (IEEE 754-2008, section 3.4), blocks of 8 bits beside ggml's formula.
#include "catch.hpp"
#include "gradus/annexes/formats/export/encodings.hpp"
#include "gradus/files/error.hpp"

namespace gradus::test_gguf_numbers {

using namespace gradus::exports;

/// The number that the bits stand for.
double value_of(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

uint16_t half_at(const std::string& bytes, size_t at) {
  uint16_t half;
  std::memcpy(&half, bytes.data() + at, sizeof half);
  return half;
}

TEST_CASE("every float16 comes back, and what lies between two goes to the nearer, or the even one") {
  for (uint16_t bits = 0; bits < 0x7BFF; ++bits) {
    const double here = value_of(bits), next = value_of(static_cast<uint16_t>(bits + 1)),
                 middle = (here + next) / 2;
    const auto above = static_cast<uint16_t>(bits + 1), even = bits % 2 == 0 ? bits : above;
    const bool right = to_float16(static_cast<float>(here)) == bits &&
                       to_float16(static_cast<float>(middle)) == even &&
                       to_float16(std::nextafter(static_cast<float>(middle), 0.0F)) == bits &&
                       to_float16(std::nextafter(static_cast<float>(middle), 1e9F)) == above &&
                       to_float16(static_cast<float>(-middle)) == (even | 0x8000);
    if (!right) FAIL("at the bits " << bits);
  }
  CHECK(to_float16(65504.0F) == 0x7BFF);
  CHECK(to_float16(65519.996F) == 0x7BFF);
  CHECK(to_float16(65520.0F) == 0x7C00);
  CHECK(to_float16(-std::numeric_limits<float>::infinity()) == 0xFC00);
  CHECK((to_float16(std::numeric_limits<float>::quiet_NaN()) & 0x7FFF) > 0x7C00);
  CHECK(to_float16(-0.0F) == 0x8000);
}

TEST_CASE("f16 and q8_0 refuse what they cannot hold") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float bad : {70000.0F, -70000.0F, nan, std::numeric_limits<float>::infinity()}) {
    CHECK_THROWS_WITH(as_f16(std::vector<float>{1.0F, bad}), ContainsSubstring("Hint: --type f32"));
    std::vector<float> block(32, 1.0F);
    block[30] = bad * 1000.0F;
    CHECK_THROWS_WITH(as_q8_0(block), ContainsSubstring("Hint: --type f32"));
  }
}

TEST_CASE("blocks of 8 bits are what ggml makes") {
  std::vector<float> x(64, 0.0F);
  x[0] = 127.0F, x[1] = -127.0F, x[2] = 0.5F, x[3] = -0.5F, x[4] = 2.4F,
  x[31] = 126.6F;  // d = 1; half goes away from 0
  const std::string bytes = as_q8_0(x);
  REQUIRE(bytes.size() == 68);
  CHECK(half_at(bytes, 0) == 0x3C00);
  const auto number = [&](size_t i) { return static_cast<int>(static_cast<signed char>(bytes[i])); };
  CHECK(std::vector<int>{number(2), number(3), number(4), number(5), number(6), number(33)} ==
        std::vector<int>{127, -127, 1, -1, 2, 127});
  CHECK(bytes.substr(34) == std::string(34, '\0'));
}

TEST_CASE("numbers of 8 bits are off by half a step at most") {
  std::vector<float> x;
  for (int i = 0; i < 32 * 50; ++i)
    x.push_back(std::sin(static_cast<float>(i * i)) * std::pow(1.7F, static_cast<float>(i / 32 % 20 - 10)));
  const std::string bytes = as_q8_0(x);
  for (size_t block = 0; block < 50; ++block) {
    float largest = 0.0F;
    for (size_t i = 0; i < 32; ++i) largest = std::max(largest, std::abs(x[32 * block + i]));
    const double d = value_of(half_at(bytes, 34 * block)), step = largest / 127.0;
    CHECK(std::abs(d - step) <= std::ldexp(step, -11) + 0x1p-25);
    for (size_t i = 0; i < 32; ++i) {
      const double back = d * static_cast<signed char>(bytes[34 * block + 2 + i]);
      const bool close =
          std::abs(back - x[32 * block + i]) <= step * 0.5 * (1 + 1e-5) + 127 * std::abs(d - step);
      CHECK(close);
    }
  }
}

}  // namespace gradus::test_gguf_numbers
