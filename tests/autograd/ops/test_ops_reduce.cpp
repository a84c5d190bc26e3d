// Edges of reductions where tests/annexes/cases/conform has no answer of PyTorch's, or another one.
#include "autograd/compare.hpp"

namespace gradus::test_ops_reduce {

using namespace gradus::testing;

Tensor gradient_of_sum(const Tensor& y, const Tensor& x) {
  return grad({y}, {x}, {.grad_outputs = {ones(y.shape(), y.dtype())}})[0];
}

TEST_CASE("nothing and one element are reduced without an error") {
  const Tensor none = leaf({}, {0}), one = leaf({5}, {1});
  CHECK(difference(sum(f64({}, {2, 0}), {1}), f64({0, 0})) == "");
  CHECK(amax(f64({}, {2, 0}), {0}).shape() == Shape{0});
  CHECK(gradient_of_sum(mean(none), none).shape() == Shape{0});
  const Tensor y = var(one);
  CHECK(std::isnan(y.item()));
  CHECK(std::isnan(stddev(f64({5})).item()));
  CHECK(gradient_of_sum(y, one).shape() == Shape{1});
  CHECK(var(one, {}, 0).item() == 0);
  CHECK(gradient_of_sum(var(one, {}, 0), one).item() == 0);
}

TEST_CASE("int64 is reduced to int64, and bool is counted") {
  CHECK(difference(sum(i64({1, 2, 3})), full({}, 6, DType::int64)) == "");
  CHECK(difference(max(i64({4, 9, 9}), 0).indices, full({}, 1, DType::int64)) == "");
  CHECK(difference(sum(gt(f64({1, -1, 2}), 0.0)), full({}, 2, DType::int64)) == "");
}

TEST_CASE("what cannot be reduced is refused by name") {
  const Tensor none = f64({}, {2, 0}), x = f64({1, 2});
  CHECK_ERROR(amax(f64({}, {0})), "[amax] needs values to choose from, got shape (0,)");
  CHECK_ERROR(amin(none, {1}), "[amin]");
  CHECK_ERROR(max(none, 1), "needs values to choose from");
  CHECK_ERROR(min(ones({2, 3}), 2), "dim must be in [-2, 1], got 2");
  CHECK_ERROR(sum(ones({2, 3}), {2}), "[sum] dim must be in [-2, 1], got 2");
  CHECK_ERROR(mean(ones({2, 3}), {0, -2}), "once");
  CHECK_ERROR(logsumexp(x, {1}), "[logsumexp]");
  CHECK_ERROR(softmax(x, 1), "[softmax]");
  CHECK_ERROR(mean(i64({1, 2})), "[mean]");
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
