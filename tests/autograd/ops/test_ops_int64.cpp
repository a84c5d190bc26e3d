// Ops on int64 and bool: alone, and beside numbers that are none of their values.
#include "autograd/compare.hpp"

namespace gradus::test_ops_int64 {

using namespace gradus::testing;

TEST_CASE("neg and abs of int64") {
  CHECK(difference(neg(i64({3, -4, 0})), i64({-3, 4, 0})) == "");
  CHECK(difference(abs(i64({3, -4, 0})), i64({3, 4, 0})) == "");
  CHECK_ERROR(neg(bools({true})), "[neg]");
}

TEST_CASE("int64 beside a number that is none of its values is float32") {
  const Tensor x = i64({-2, 0, 3});
  CHECK(difference(x * 0.5, f32({-1, 0, 1.5})) == "");
  CHECK(difference(0.5 * x, f32({-1, 0, 1.5})) == "");
  CHECK(difference(x + 0.25, f32({-1.75, 0.25, 3.25})) == "");
  CHECK(difference(0.25 - x, f32({2.25, 0.25, -2.75})) == "");
  CHECK(difference(x - kInf, f32({-kInf, -kInf, -kInf})) == "");
  CHECK(difference(x * kNan, f32({kNan, kNan, kNan})) == "");
  CHECK(difference(x + 0x1p63, f32({0x1p63, 0x1p63, 0x1p63})) == "");
  CHECK(difference(x + -0x1p62,
                   i64({-2 - (int64_t{1} << 62), -(int64_t{1} << 62), 3 - (int64_t{1} << 62)})) == "");
  CHECK_ERROR(bools({true}) * 0.5, "[mul] needs float32, float64 or int64");
}

TEST_CASE("products of int64 matrices are exact") {
  const Tensor a = i64({1, 2, 3, int64_t{1} << 40}).reshape({2, 2});
  const Tensor b = i64({1, 0, 5, int64_t{1} << 20}).reshape({2, 2});
  const std::vector<int64_t> want{11, int64_t{1} << 21, 3 + 5 * (int64_t{1} << 40), int64_t{1} << 60};
  CHECK(difference(matmul(a, b), tensor(want, {2, 2})) == "");
  CHECK(difference(matmul(i64({1, 2}), b), i64({11, int64_t{1} << 21})) == "");
  CHECK_ERROR(matmul(bools({true}), bools({true})), "[matmul] needs float32 or float64 values, got bool");
}

TEST_CASE("a number that int64 cannot hold is refused") {
  for (const double value : {kInf, -kInf, kNan, 0x1p63, -1e30}) {
    CHECK_ERROR(full({2}, value, DType::int64), "[full] int64 holds no ");
    CHECK_ERROR(i64({1, 2}).fill_(value), "int64 holds no ");
  }
  CHECK(difference(full({1}, -0x1p63, DType::int64), i64({std::numeric_limits<int64_t>::min()})) == "");
  CHECK_ERROR(arange(0, 1e20, 1e19, DType::int64), "[arange] int64 holds no 1e+20");
}

TEST_CASE("quotients of int64 are float32, powers are whole") {
  const Tensor x = i64({-3, 4, 8});
  CHECK(difference(x / 2, f32({-1.5, 2, 4})) == "");
  CHECK(difference(12 / x, f32({-4, 3, 1.5})) == "");
  CHECK(difference(x / i64({2, 3, 0}), f32({-1.5, static_cast<float>(4.0 / 3), kInf}), 1e-7) == "");
  CHECK(difference(pow(x, 3), i64({-27, 64, 512})) == "");
  CHECK(difference(pow(x, 0), i64({1, 1, 1})) == "");
  CHECK(difference(pow(x, i64({2, 0, 1})), i64({9, 1, 8})) == "");
  CHECK(difference(pow(i64({3, 2}), 40), i64({-6289078614652622815, int64_t{1} << 40})) ==
        "");  // 3^40 modulo 2^64
  CHECK(difference(pow(i64({4, 9}), 0.5), f32({2, 3}), 1e-6) == "");
  CHECK(difference(pow(i64({2, -4}), -1), f32({0.5, -0.25})) == "");
  CHECK_THROWS_WITH(pow(x, i64({1, -2, 1})),
                    "[pow] int64 exponents must not be negative, got -2. Hint: convert with to().");
}

TEST_CASE("comparisons of int64 and bool with numbers that are none of their values") {
  const Tensor x = i64({-1, 0, 1}), b = bools({false, true});
  CHECK(difference(lt(x, 0.5), bools({true, true, false})) == "");
  CHECK(difference(gt(x, -0.5), bools({false, true, true})) == "");
  CHECK(difference(ge(x, 0.5), bools({false, false, true})) == "");
  CHECK(difference(le(x, -0.5), bools({true, false, false})) == "");
  CHECK(difference(eq(x, 0.5), bools({false, false, false})) == "");
  CHECK(difference(ne(x, kNan), bools({true, true, true})) == "");
  CHECK(difference(lt(x, kInf), bools({true, true, true})) == "");
  CHECK(difference(eq(b, 0.5), bools({false, false})) == "");
  CHECK(difference(ne(b, 2), bools({true, true})) == "");
  CHECK(difference(lt(b, 0.5), bools({true, false})) == "");
  CHECK(difference(eq(b, 1), bools({false, true})) == "");
}

}  // namespace gradus::test_ops_int64
