// Values and edge conventions of reductions, softmax and its relatives.
#include "autograd/compare.hpp"

namespace gradus::test_ops_reduce {

using namespace gradus::testing;

Tensor gradient_of_sum(const Tensor& y, const Tensor& x) {
  return grad({y}, {x}, {.grad_outputs = {ones(y.shape(), y.dtype())}})[0];
}

TEST_CASE("sums of many float32 stay accurate") {
  const int64_t n = 1 << 22;
  CHECK(std::abs(sum(full({n}, 0.1)).item() / (static_cast<double>(0.1F) * static_cast<double>(n)) - 1) <
        1e-6);
  CHECK(std::abs(mean(full({2, n / 2}, 0.1), {1}).at({1}) - 0.1) < 1e-7);
}

TEST_CASE("sum of int64") { CHECK(difference(sum(i64({1, 2, 3})), full({}, 6, DType::int64)) == ""); }

TEST_CASE("reducing nothing: 0, NaN, or an error") {
  const Tensor none = f64({}, {0});
  CHECK(sum(none).item() == 0);
  CHECK(std::isnan(mean(none).item()));
  CHECK(difference(sum(f64({}, {2, 0}), {1}), f64({0, 0})) == "");
  CHECK_ERROR(amax(none), "[amax] needs values to choose from, got shape (0,)");
  CHECK_ERROR(amin(f64({}, {2, 0}), {1}), "[amin]");
  CHECK(amax(f64({}, {2, 0}), {0}).shape() == Shape{0});
  const Tensor x = leaf({}, {0});
  CHECK(gradient_of_sum(mean(x), x).shape() == Shape{0});
}

TEST_CASE("dims that do not fit are refused") {
  CHECK_ERROR(sum(ones({2, 3}), {2}), "[sum] dim must be in [-2, 1], got 2");
  CHECK_ERROR(mean(ones({2, 3}), {0, -2}), "once");
  CHECK_ERROR(logsumexp(f64({1, 2}), {1}), "[logsumexp]");
  CHECK_ERROR(softmax(f64({1, 2}), 1), "[softmax]");
  CHECK_ERROR(mean(i64({1, 2})), "[mean]");
}

TEST_CASE("amax and amin share the gradient among ties") {
  const Tensor x = leaf({3, 1, 3, 3, 2, 2}, {2, 3});
  CHECK(difference(gradient_of_sum(amax(x, {1}), x), f64({0.5, 0, 0.5, 1, 0, 0}, {2, 3})) == "");
  CHECK(difference(gradient_of_sum(amin(x, {1}), x), f64({0, 1, 0, 0, 0.5, 0.5}, {2, 3})) == "");
  CHECK(difference(gradient_of_sum(amax(x), x), f64({1, 0, 1, 1, 0, 0}, {2, 3}) / 3.0) == "");
  CHECK(std::isnan(amax(f64({1, kNan, 2})).item()));
}

TEST_CASE("var has both corrections and survives large offsets") {
  const Tensor x = f64({1, 2, 3, 6});
  CHECK(var(x).item() == Catch::Approx(14.0 / 3).epsilon(1e-14));
  CHECK(var(x, {}, 0).item() == Catch::Approx(3.5).epsilon(1e-14));
  CHECK(var(x + 1e8).item() == Catch::Approx(14.0 / 3).epsilon(1e-12));
  CHECK(var((x * 1.0).to(DType::float32) + 1e4).item() == Catch::Approx(14.0 / 3).epsilon(1e-5));
}

TEST_CASE("var of one element is NaN, its gradient no error") {
  const Tensor x = leaf({5}, {1});
  const Tensor y = var(x);
  CHECK(std::isnan(y.item()));
  CHECK(gradient_of_sum(y, x).shape() == Shape{1});
  CHECK(var(x, {}, 0).item() == 0);
  CHECK(gradient_of_sum(var(x, {}, 0), x).item() == 0);
}

TEST_CASE("std is the root of var, with gradient 0 where nothing varies") {
  const Tensor x = leaf({1, 2, 3, 6, 5, 5, 5, 5}, {2, 4});
  const Tensor y = stddev(x, {1});
  CHECK(difference(y, f64({std::sqrt(14.0 / 3), 0})) == "");
  CHECK(difference(stddev(x, {1}, 0, true), f64({std::sqrt(3.5), 0}, {2, 1})) == "");
  const Tensor g = gradient_of_sum(y, x);
  const double s = std::sqrt(14.0 / 3) * 3;  // (x - mean) / ((n - 1) std)
  CHECK(difference(g, f64({-2 / s, -1 / s, 0, 3 / s, 0, 0, 0, 0}, {2, 4})) == "");
  CHECK(std::isnan(stddev(f64({5})).item()));
}

TEST_CASE("max and min along a dim: values and places, the first among equals") {
  const Tensor x = leaf({1, 3, 3, 5, 5, 2}, {2, 3});
  const auto top = max(x, 1), low = min(x, 0, /*keepdim=*/true);
  CHECK(difference(top.values, f64({3, 5})) == "");
  CHECK(difference(top.indices, i64({1, 0})) == "");
  CHECK(difference(low.values, f64({1, 3, 2}, {1, 3})) == "");
  CHECK(difference(low.indices, i64({0, 0, 1}).unsqueeze(0)) == "");
  CHECK(difference(gradient_of_sum(top.values, x), f64({0, 1, 0, 1, 0, 0}, {2, 3})) == "");
  CHECK(difference(max(x.mT(), 0).indices, i64({1, 0})) == "");
  CHECK(std::isnan(max(f64({1, kNan, 2}), 0).values.item()));
  CHECK(min(f64({1, kNan, -2}), 0).indices.item() == 1);
  CHECK(max(f64({7}).squeeze(), 0).indices.shape() == Shape{});
  CHECK(difference(max(i64({4, 9, 9}), 0).indices, full({}, 1, DType::int64)) == "");
  CHECK(max(x).item() == 5);
  const Tensor ties = leaf({1, 1}, {2});
  CHECK(difference(gradient_of_sum(min(ties), ties), f64({0.5, 0.5})) == "");
  CHECK_ERROR(max(f64({}, {2, 0}), 1), "needs values to choose from");
  CHECK_ERROR(min(x, 2), "dim must be in [-2, 1], got 2");
}

TEST_CASE("softmax has PyTorch's numbers along any dim") {
  const Tensor x = f64({1, 2, 3, 1, 1, 1}, {2, 3});
  const Tensor rows = f64(
      {0.090030573170380462, 0.24472847105479764, 0.66524095577482178, 1.0 / 3, 1.0 / 3, 1.0 / 3}, {2, 3});
  CHECK(difference(softmax(x, 1), rows, 1e-15) == "");
  CHECK(difference(softmax(x.mT(), 0), rows.mT(), 1e-15) == "");
  CHECK(difference(log_softmax(x, -1), log(rows), 1e-15) == "");
  CHECK(difference(logsumexp(x, {1}), f64({3.4076059644443806, 2.0986122886681096}), 1e-15) == "");
  CHECK(difference(softmax(f64({3}).squeeze(), 0), f64({1}).squeeze()) == "");
}

TEST_CASE("softmax and logsumexp of large values neither overflow nor lose the sum") {
  const Tensor x = leaf({1e4, -1e4, 1e4, 0}, {1, 4});
  const Tensor p = softmax(x, 1);
  CHECK(difference(p, f64({0.5, 0, 0.5, 0}, {1, 4})) == "");
  CHECK(difference(grad({p}, {x}, {.grad_outputs = {f64({1, 2, 3, 4}, {1, 4})}})[0],
                   f64({-0.5, 0, 0.5, 0}, {1, 4})) == "");
  CHECK(difference(logsumexp(x, {1}), f64({1e4 + std::log(2)})) == "");
  CHECK(difference(log_softmax(x, 1),
                   f64({-std::log(2), -2e4 - std::log(2), -std::log(2), -1e4 - std::log(2)}, {1, 4})) == "");
  for (const double offset : {-1e4, 1e4}) {
    CHECK(difference(softmax((f64({1, 2, 3}) + offset), 0), softmax(f64({1, 2, 3}), 0), 1e-11) == "");
  }
}

TEST_CASE("logsumexp with infinities") {  // gradient 0 for a row of -inf only, where PyTorch gives NaN
  const Tensor x = leaf({-kInf, -kInf, kInf, 1, -kInf, 2}, {3, 2});
  const Tensor y = logsumexp(x, {1});
  CHECK(difference(y, f64({-kInf, kInf, 2})) == "");
  const Tensor g = gradient_of_sum(y, x);
  CHECK(difference(g.select(0, 0), f64({0, 0})) == "");
  CHECK(difference(g.select(0, 2), f64({0, 1})) == "");
  const Tensor h = grad({sum(logsumexp(x.slice(0, 0, 1), {1}))}, {x}, {.create_graph = true})[0];
  CHECK(difference(h.select(0, 0), f64({0, 0})) == "");
}

}  // namespace gradus::test_ops_reduce
