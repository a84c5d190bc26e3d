// Edges and refusals of ops that join, place and look up; the rest is in tests/annexes/cases/conform.
#include "autograd/compare.hpp"

namespace gradus::test_ops_index {

using namespace gradus::testing;

Tensor index(const std::vector<int64_t>& values, const Shape& shape) { return tensor(values, shape); }

TEST_CASE("cat and stack") {
  const Tensor a = counted({2, 2}), b = counted({2, 1}) + 10;
  CHECK(difference(cat({a.mT(), b.mT()}, 0), f64({0, 2, 1, 3, 10, 11}, {3, 2})) == "");
  CHECK(difference(cat({a}, -1), a) == "");
  CHECK(difference(cat({i64({1}), i64({2, 3})}, 0), i64({1, 2, 3})) == "");
  CHECK_ERROR(cat({a, counted({3, 1})}, 1), "got (2, 2) and (3, 1)");
  CHECK_ERROR(cat({a, ones({2, 2})}, 1), "[cat]");
  CHECK_ERROR(cat({}, 0), "needs at least one tensor");
  CHECK_ERROR(cat({a, b}, 2), "[cat]");
  CHECK_ERROR(cat({full({}, 1)}, 0), "Hint: use stack()");
  CHECK_ERROR(stack({a, b}, 0), "[stack] shapes must be equal");
  CHECK_ERROR(stack({}, 0), "[stack]");
}

TEST_CASE("pad is the inverse of slice") {
  const Tensor x = counted({2, 3}) + 1;
  CHECK(difference(pad(x, 0, 4, 1), f64({0, 0, 0, 1, 2, 3, 4, 5, 6, 0, 0, 0}, {4, 3})) == "");
  CHECK(difference(pad(x, 1, 5, 0, 2), f64({1, 0, 2, 0, 3, 4, 0, 5, 0, 6}, {2, 5})) == "");
  CHECK(difference(pad(x, -1, 8, 1, 3).slice(-1, 1, 8, 3), x) == "");
  CHECK_ERROR(pad(x, 1, 5, 1, 2), "[pad]");
  CHECK_ERROR(pad(x, 1, 5, -1), "[pad]");
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  CHECK_ERROR(pad(x, 1, 5, 0, most), "[pad]");
  CHECK_ERROR(pad(x, 1, 5, most), "[pad]");
}

TEST_CASE("places outside, and of another kind, are refused") {
  const Tensor x = counted({3, 2}), scalar = f64({7}).squeeze();
  const Tensor columns = index({1, 0, 1, 1}, {2, 2});
  CHECK(difference(index_select(i64({5, 6, 7}), 0, i64({2, 1})), i64({7, 6})) == "");
  CHECK_ERROR(index_select(x, 0, i64({3})), "[index_select]");
  CHECK_ERROR(index_select(x, 0, i64({-1})), "-1");
  CHECK_ERROR(index_select(x, 0, f64({1})), "int64");
  CHECK_ERROR(index_select(scalar, 1, i64({0})), "[index_select]");
  CHECK_ERROR(index_add(x, 0, i64({1}), f64({1, 2, 3, 4}, {2, 2})), "[index_add]");
  CHECK_ERROR(gather(x, 1, index({3}, {1, 1})), "[gather]");
  CHECK_ERROR(gather(x, 1, index({0, 0, 0, 0}, {4, 1})), "[gather]");
  CHECK_ERROR(gather(x, 1, i64({0})), "[gather]");
  CHECK_ERROR(gather(scalar, 0, i64({1})), "[gather]");
  CHECK_ERROR(scatter_add(x, 1, columns, f64({1, 2}, {2, 1})), "[scatter_add]");
  CHECK_ERROR(scatter_add(x, 1, index({0, -1}, {1, 2}), f64({1, 2}, {1, 2})), "[scatter_add]");
  CHECK_ERROR(scatter(x, 0, index({3, 0}, {1, 2}), x), "[scatter]");
  CHECK_ERROR(scatter(x, 0, i64({0}), f64({1})), "[scatter]");
  CHECK_ERROR(embedding(x, i64({3})), "[embedding]");
  CHECK_ERROR(embedding(x, i64({3})), "3");
  CHECK_ERROR(embedding(f64({1, 2}), i64({0})), "[embedding]");
}

TEST_CASE("a scalar is indexed as a vector of one element") {
  const Tensor x = f64({7}).squeeze(), at = i64({0}).squeeze();
  CHECK(difference(index_select(f64({1, 2}), 0, at), f64({1})) == "");
  CHECK(difference(gather(x, 0, i64({0, 0})), f64({7, 7})) == "");
  CHECK(difference(gather(f64({1, 2}), 0, at), f64({1}).squeeze()) == "");
}

TEST_CASE("cat passes over empty vectors") {
  const Tensor x = leaf({1, 2, 3, 4}, {2, 2}), nothing = leaf({}, {0});
  const Tensor y = cat({nothing, x, nothing, x}, 1);
  CHECK(difference(y, f64({1, 2, 1, 2, 3, 4, 3, 4}, {2, 4})) == "");
  y.backward(ones({2, 4}, DType::float64));
  CHECK(difference(x.grad(), f64({2, 2, 2, 2}, {2, 2})) == "");
  CHECK(nothing.grad().shape() == Shape{0});
  CHECK(cat({nothing, nothing}, 0).shape() == Shape{0});
  CHECK_ERROR(cat({x, f64({}, {0, 1})}, 1), "[cat]");
}

TEST_CASE("scatter replaces; of repeated indices the last one counts, and gets the gradient") {
  const Tensor x = leaf({1, 2, 3, 4}, {2, 2}), source = leaf({10, 20, 30, 40}, {2, 2});
  const Tensor y = scatter(x, 0, index({1, 0, 1, 1}, {2, 2}), source);
  CHECK(difference(y, f64({1, 20, 30, 40}, {2, 2})) == "");
  y.backward(f64({1, 2, 3, 4}, {2, 2}));
  CHECK(difference(x.grad(), f64({1, 0, 0, 0}, {2, 2})) == "");
  CHECK(difference(source.grad(), f64({0, 2, 3, 4}, {2, 2})) == "");
  CHECK(difference(scatter(x, 1, index({1, 0}, {2, 1}), 7.0).detach(), f64({1, 7, 7, 4}, {2, 2})) == "");
}

TEST_CASE("embedding looks up rows; repeated ones add up, the padding row gets nothing") {
  const Tensor w = leaf({0, 1, 10, 11, 20, 21}, {3, 2});
  const Tensor i = index({2, 0, 2, 1}, {2, 2});
  const Tensor y = embedding(w, i, 1);
  CHECK(difference(y, f64({20, 21, 0, 1, 20, 21, 10, 11}, {2, 2, 2})) == "");
  y.backward(counted({2, 2, 2}));
  CHECK(difference(w.grad(), f64({2, 3, 0, 0, 4, 6}, {3, 2})) == "");
}

TEST_CASE("tril and triu of any diagonal") {
  const Tensor x = counted({2, 3}) + 1;
  CHECK(difference(triu(x.mT()), f64({1, 4, 0, 5, 0, 0}, {3, 2})) == "");
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  CHECK(difference(tril(x, most), x) == "");
  CHECK(difference(triu(x, -most - 1), x) == "");
  CHECK(difference(tril(x, -most - 1), x * 0) == "");
  CHECK(difference(triu(x, most), x * 0) == "");
  CHECK(difference(tril(ones({2, 2}, DType::int64)), index({1, 0, 1, 1}, {2, 2})) == "");
  CHECK_ERROR(tril(ones({3})), "needs at least two dimensions");
}

}  // namespace gradus::test_ops_index
