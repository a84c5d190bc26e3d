// argmax, sort, topk, one_hot and multinomial; tests/annexes/cases/conform has more of them, and nonzero.
#include "autograd/compare.hpp"

namespace gradus::test_ops_sorting {

using namespace gradus::testing;

TEST_CASE("argmax takes the first among equals, and the first NaN") {
  const Tensor x = f64({1, 3, 3, 5, 5, 2}, {2, 3});
  CHECK(difference(argmax(x, 1), i64({1, 0})) == "");
  CHECK(difference(argmax(x, 0), i64({1, 1, 0})) == "");
  CHECK(difference(argmax(x, -1, true), i64({1, 0}).unsqueeze(1)) == "");
  CHECK(difference(argmax(x.mT(), 0), i64({1, 0})) == "");
  CHECK(argmax(f64({1, kNan, 9, kNan}), 0).item() == 1);
  CHECK(argmax(f64({-kInf, -kInf}), 0).item() == 0);
  CHECK_ERROR(argmax(f64({}, {2, 0}), 1), "[argmax]");
  CHECK_ERROR(argmax(f64({1}), 1), "[argmax]");
}

TEST_CASE("topk gives the largest or the smallest, the lower index first among equals") {
  const Tensor x = f64({1, 5, 3, 5, 2});
  const auto top = topk(x, 3, 0), bottom = topk(f64({3, 1, kNan, 1, -kInf}), 3, 0, /*largest=*/false);
  CHECK(difference(top.values, f64({5, 5, 3})) == "");
  CHECK(difference(top.indices, i64({1, 3, 2})) == "");
  CHECK(difference(bottom.values, f64({-kInf, 1, 1})) == "");
  CHECK(difference(bottom.indices, i64({4, 1, 3})) == "");
  CHECK_ERROR(topk(x, 6, 0), "[topk]");
  CHECK_ERROR(topk(x, -1, 0), "[topk]");
}

TEST_CASE("one_hot refuses indices and numbers of classes that do not fit") {
  CHECK_THROWS_WITH(one_hot(i64({2}), 2), "[one_hot] index 2 (element 0) is outside [0, 2).");
  CHECK_THROWS_WITH(one_hot(i64({})), "[one_hot] needs num_classes if there is no index, got -1.");
  CHECK_THROWS_WITH(one_hot(i64({0}), 0),
                    "[one_hot] num_classes must be at least 1, or -1 to count them, got 0.");
}

TEST_CASE("multinomial without replacement draws each index once, zero weights never") {
  Generator generator(5);
  for (int i = 0; i < 50; ++i) {
    const Tensor drawn = multinomial(f64({0, 1, 100, 1, 0, 0, 2, 0}, {2, 4}), 1, generator);
    CHECK(drawn.shape() == Shape{2, 1});
    CHECK(drawn.at({1, 0}) == 2);
    CHECK(drawn.at({0, 0}) > 0);
    const Tensor all = sort(multinomial(f64({1, 2, 0, 3}), 3, generator), 0).values;
    CHECK(difference(all, i64({0, 1, 3})) == "");
  }
}

TEST_CASE("multinomial refuses weights that are none") {
  Generator g(6);
  for (const Tensor& weights : {f64({1, -1}), f64({1, kNan}), f64({1, kInf}), f64({0, 0})})
    CHECK_ERROR(multinomial(weights, 1, g, true), "[multinomial]");
  CHECK_ERROR(multinomial(f64({1, 0}), 2, g), "[multinomial]");
}

}  // namespace gradus::test_ops_sorting
