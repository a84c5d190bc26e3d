// The comparison and the layouts of conformance: a tester that is tested.
#include "autograd/compare.hpp"
#include "gradus/annexes/cases/compare.hpp"
#include "gradus/annexes/cases/conform.hpp"

namespace gradus::test_conform_compare {

using namespace gradus::testing;

std::string compared(const Tensor& got, const Tensor& expected, double tolerance = 1e-12) {
  return cases::compare_answer(got, expected, tolerance).message;
}
bool same(double got, double expected, double tolerance = 1e-12) {
  return compared(f64({got}), f64({expected}), tolerance).empty();
}

TEST_CASE("NaN is equal to NaN only, an infinity to itself only") {
  CHECK(same(kNan, kNan));
  CHECK(!same(kNan, 1));
  CHECK(!same(1, kNan));
  CHECK(!same(kNan, kInf));
  CHECK(!same(kInf, kNan));
  CHECK(same(kInf, kInf));
  CHECK(same(-kInf, -kInf));
  CHECK(!same(kInf, -kInf));
  CHECK(!same(1e308, kInf));
  CHECK(!same(kInf, 1e308));
  CHECK(same(-0.0, 0.0));
}

TEST_CASE("no relative tolerance reaches an infinity") {
  CHECK(!cases::compare_value(f64({1}), f64({kInf})).message.empty());
  CHECK(!cases::compare_value(f64({kInf}), f64({1e300})).message.empty());
  CHECK(!cases::compare_expected(f64({1}), f64({-kInf}), 0, 1e-3).message.empty());
  CHECK(cases::compare_expected(f64({kInf}), f64({kInf}), 0, 1e-3).message.empty());
  for (const auto& [got, expected] :
       {std::pair{-kInf, kInf}, {1, -kInf}, {-kInf, 1}, {kNan, 1}, {1, kNan}, {kNan, -kInf}})
    CHECK(!cases::compare_expected(f32({got}), f32({expected}), 1e30, 0).message.empty());
  CHECK(!cases::compare_expected(f32({1}), f32({1}, {1, 1}), 0, 0).message.empty());
}

TEST_CASE("numbers agree within tolerance * max(1, |expected|)") {
  CHECK(same(1 + 9e-13, 1));
  CHECK(!same(1 + 2e-12, 1));
  CHECK(same(9e-13, 0));
  CHECK(!same(2e-12, 0));
  CHECK(same(1e6 + 9e-7, 1e6));
  CHECK(!same(1e6 + 2e-6, 1e6));
  CHECK(!same(-1, 1));
  CHECK(compared(i64({1, 2}), i64({1, 2})).empty());
  CHECK(!compared(i64({1, 3}), i64({1, 2})).empty());
  const int64_t large = (int64_t{1} << 53) + 1;
  CHECK(cases::compare_expected(i64({large}), i64({large}), 0, 0).message.empty());
  CHECK(!cases::compare_expected(i64({large}), i64({large - 1}), 0, 0).message.empty());
  CHECK(cases::compare_expected(f32({1}), f64({1.5}), 0.5, 0).message.empty());
  CHECK(!cases::compare_expected(f32({1}), f64({1.5}), 0.499, 0).message.empty());
  CHECK(cases::compare_expected(f32({0.1}), f64({0.1}), 0, 0).message.empty());
}

TEST_CASE("shape, dtype and presence are exact") {
  CHECK(compared(f64({1, 2}), f64({1, 2}).unsqueeze(0)) == "shape must be (1, 2), got (2,)");
  CHECK(compared(f64({}, {0, 2}), f64({}, {0, 3})) == "shape must be (0, 3), got (0, 2)");
  CHECK(compared(f64({}, {0, 2}), f64({}, {0, 2})).empty());
  CHECK(compared(f64({1}).squeeze(), f64({1})) == "shape must be (1,), got ()");
  CHECK(compared(i64({1}), f64({1})) == "dtype must be float64, got int64");
  CHECK(compared(f64({1}), i64({1})) == "dtype must be int64, got float64");
  CHECK(compared(f64({1}), f64({1}).to(DType::float32)) == "dtype must be float32, got float64");
  CHECK(compared(Tensor(), f64({1})) == "there must be one, got none");
}

TEST_CASE("the first difference is told with its place, and how many there are") {
  const std::string kFirst =
      "element [1, 1] must be 5 within 1e-12 max(1, |expected|), got nan; 2 of 6 differ, the worst by inf";
  const Tensor expected = f64({1, 2, 3, 4, 5, 6}, {2, 3}), got = f64({1, 2, 3, 4, kNan, 7}, {2, 3});
  CHECK(compared(got, expected) == kFirst);
  CHECK(compared(got.mT(), expected.mT()) == kFirst);
}

TEST_CASE(
    "float32 is compared with float64 by the largest element's tolerance, and too large numbers are "
    "infinite") {
  CHECK(compared(f32({1000.005, 0}), f64({1000, 0}), 1e-5).empty());
  CHECK(compared(f32({1000, 0.005}), f64({1000, 0}), 1e-5).empty());
  CHECK(!compared(f32({1000, 0.02}), f64({1000, 0}), 1e-5).empty());
  CHECK(compared(f32({kInf}), f64({1e39}), 1e-5).empty());
  CHECK(!compared(f32({1e30}), f64({1e39}), 1e-5).empty());
  CHECK(!compared(f32({kNan}), f64({1}), 1e-5).empty());
}

TEST_CASE("a pardon lets its differences pass and no others") {
  const auto pardon = [](double got, double expected) { return got == 0 && std::isnan(expected); };
  const auto pardoned = [&](const std::vector<double>& got, const std::vector<double>& expected) {
    return cases::compare_answer(f64(got), f64(expected), 1e-12, pardon).message.empty();
  };
  CHECK(pardoned({0, 1}, {kNan, 1}));
  CHECK(!pardoned({0, 2}, {kNan, 1}));
  CHECK(!pardoned({1, 1}, {kNan, 1}));
}

TEST_CASE("layouts hold the same values in other places") {
  using cases::expanded;
  using cases::stepped;
  using cases::transposed;
  const Tensor x = arange(0, 24, 1, DType::float64).reshape({2, 3, 4});
  CHECK(difference(transposed(x), x, 0.0) == "");
  CHECK(!transposed(x).is_contiguous());
  CHECK(difference(stepped(x), x, 0.0) == "");
  CHECK(!stepped(x).is_contiguous());
  for (const Shape& shape : {Shape{}, Shape{0, 2}, Shape{1}}) {
    const Tensor t = zeros(shape, DType::int64);
    CHECK(difference(transposed(t), t, 0.0) == "");
    CHECK(difference(stepped(t), t, 0.0) == "");
    CHECK(expanded(t).shape() == shape);
  }
  CHECK(difference(expanded(x), x.slice(0, 0, 1).expand({2, 3, 4}), 0.0) == "");
  CHECK(!expanded(x).is_contiguous());
  CHECK(difference(expanded(x.slice(0, 0, 1)).select(1, 2), x.slice(0, 0, 1).select(1, 0), 0.0) == "");
}

}  // namespace gradus::test_conform_compare
