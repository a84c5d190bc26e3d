// Tensor::index(): shapes as in PyTorch 1.13, and edges. tests/annexes/cases/conform has PyTorch's answers.
#include "autograd/compare.hpp"

namespace gradus::test_index {

using namespace gradus::testing;

Tensor ints(const std::vector<int64_t>& values, const Shape& shape) { return tensor(values, shape); }
Tensor mask(const std::vector<bool>& values, const Shape& shape) { return tensor(values, shape); }

TEST_CASE("numbers, slices, new dims and Ellipsis are views") {
  const Tensor x = counted({3, 4, 2});
  CHECK(difference(x.index({}), x) == "");
  CHECK(difference(x.index({-1}), x.select(0, 2)) == "");
  CHECK(x.index({1, 3, 0}).item() == x.at({1, 3, 0}));
  CHECK(difference(x.index({Slice(1, {}), Slice({}, -1, 2)}), x.slice(0, 1, 3).slice(1, 0, 3, 2)) == "");
  CHECK(x.index({Slice(2, 1)}).shape() == Shape{0, 4, 2});
  CHECK(difference(x.index({Slice(-100, 100)}), x) == "");
  CHECK(difference(x.index({None, Ellipsis, None, 1}), x.select(2, 1).unsqueeze(0).unsqueeze(3)) == "");
  CHECK(x.index({Ellipsis}).shape() == x.shape());
  CHECK(x.index({0, Ellipsis, 1, None}).shape() == Shape{4, 1});
  CHECK(counted({}).index({None, None}).shape() == Shape{1, 1});
  Tensor part = counted({3, 4}).index({Slice(1, 2), 3});
  part.copy_(f64({-5}));
  CHECK(part.item() == -5);  // and so it is of what it is a view of:
  const Tensor whole = counted({3, 4});
  whole.index({1, Slice(0, 2)}).copy_(f64({7, 8}));
  CHECK(whole.at({1, 1}) == 8);
}

TEST_CASE("places take elements together, and stand where the first of them stood") {
  const Tensor x = counted({3, 4, 2}), i = ints({2, 0, -1}, {3}), j = ints({1, -1, 0}, {3});
  CHECK(difference(x.index({i, j}), f64({18, 19, 6, 7, 16, 17}, {3, 2})) == "");
  CHECK(difference(x.index({i, Slice(1, 3), ints({0, 1, -1}, {3})}), f64({18, 20, 3, 5, 19, 21}, {3, 2})) ==
        "");
  CHECK(x.index({None, i, None, j}).shape() == Shape{3, 1, 1, 2});  // parted by another subscript: in front
  CHECK(x.index({i, j, None}).shape() == Shape{3, 1, 2});
  CHECK(x.index({Ellipsis, ints({0, 1, 1, 0, 1, 0}, {2, 3})}).shape() == Shape{3, 4, 2, 3});
  CHECK(x.index({ints({0, 2}, {2, 1}), j}).shape() == Shape{2, 3, 2});
  CHECK(difference(x.index({Slice(), ints({-2}, {})}), x.select(1, 2)) == "");
  CHECK(x.index({ints({}, {0})}).shape() == Shape{0, 4, 2});
  CHECK(counted({0, 4}).index({Slice(), i}).shape() == Shape{0, 3});
  CHECK(x.index({1, i}).shape() == Shape{3, 2});
  CHECK(difference(ints({5, 6, 7}, {3}).index({ints({2, 2}, {2})}), ints({7, 7}, {2})) == "");
}

TEST_CASE("masks take the places where they hold") {
  const Tensor x = counted({3, 4, 2});
  CHECK(difference(x.index({mask({true, false, true}, {3})}), index_select(x, 0, i64({0, 2}))) == "");
  CHECK(difference(x.index({gt(x, 20.0)}), f64({21, 22, 23})) == "");
  CHECK(difference(x.index({Slice(), mask({true, false, false, true}, {4}), 1}),
                   index_select(x, 1, i64({0, 3})).select(2, 1)) == "");
  CHECK(difference(x.index({1, mask({false, true, true, false, false, false, false, true}, {4, 2})}),
                   f64({9, 10, 15})) == "");
  CHECK(difference(x.index({mask({true, false, true}, {3}), i64({3, 1}), 0}), f64({6, 18})) == "");
  CHECK(x.index({mask({false, false, false}, {3})}).shape() == Shape{0, 4, 2});
  CHECK(x.index({mask({true}, {})}).shape() == Shape{1, 3, 4, 2});
  CHECK(x.index({mask({false}, {})}).shape() == Shape{0, 3, 4, 2});
  CHECK(counted({}).index({mask({true}, {})}).shape() == Shape{1});
}

TEST_CASE("subscripts that do not fit are refused") {
  const Tensor x = counted({3, 4});
  const auto refused = [&](const std::vector<TensorIndex>& subscripts) {
    return error_of([&] { x.index(subscripts); });
  };
  CHECK_HAS(refused({0, 0, 0}),
            "[index] the subscripts must index at most the 2 dimensions of (3, 4), got 3");
  CHECK_HAS(refused({Ellipsis, Ellipsis}), "[index] there must be at most one Ellipsis");
  CHECK_HAS(refused({3}), "index must be in [-3, 2], got 3");
  CHECK_HAS(refused({Slice(), i64({1, 4})}), "[index] index 4 (element 1) of dim 1 is outside [-4, 3]");
  CHECK_HAS(refused({ints({-4}, {})}), "got -4");
  CHECK_HAS(refused({Slice(0, 3, 0)}), "[slice] step must be");
  CHECK_HAS(refused({mask({true, false}, {2})}), "[index] a mask must have the shape");
  CHECK_HAS(refused({i64({0, 1}), i64({0, 1, 2})}), "[index]");
  CHECK_HAS(refused({f64({0})}), "[index] a tensor must be int64 or bool");
  CHECK_HAS(refused({Tensor()}), "[index]");
  CHECK_ERROR(counted({0, 4}).index({i64({0})}), "[index] index 0");
}

}  // namespace gradus::test_index
