// Tensor::index().
#include "gradus/autograd/ops/subscripts.hpp"
#include "gradus/autograd/gradcheck/cases/case_list.hpp"

namespace gradus::cases {

void add_subscripts(CaseList& list) {
  Values v(901);
  const auto add = [&](const char* name, const std::vector<TensorIndex>& subscripts) {
    list.add("index", name, {v.normal({3, 4, 2})}, [subscripts](Inputs x) { return x[0].index(subscripts); });
  };
  const Tensor rows = ints({2, 0, -1, 2}, {4}), grid = ints({1, -1, 0, 1}, {2, 2});
  const Tensor mask = bools({true, false, true}, {3});
  add("number", {-1});
  add("numbers to a scalar", {1, 3, 0});
  add("slices", {Slice(1, {}), Slice({}, -1, 2)});
  add("new dims and Ellipsis", {None, Ellipsis, None, 1});
  add("no subscript", {});
  add("a slice of nothing", {Slice(2, 1)});
  add("rows", {rows});
  add("columns", {Slice(), rows});
  add("last dim by a matrix", {Ellipsis, grid});
  add("two tensors", {rows, rows});
  add("two tensors that broadcast", {ints({2, 0}, {2, 1}), ints({3, 1, 1}, {3})});
  add("three tensors", {ints({2, 0}, {2}), ints({3, 3}, {2}), ints({1, 1}, {2})});
  add("tensors apart", {ints({2, 0, 2}, {3}), Slice(1, 3), ints({1, 0, 1}, {3})});
  add("tensors apart by a new dim", {rows, None, rows});
  add("a tensor after a number", {1, rows});
  add("a number after a tensor", {rows, Slice(), 0});
  add("a tensor after a new dim", {None, rows});
  add("a scalar tensor", {Slice(), ints({-2}, {})});
  add("no places", {ints({}, {0})});
  add("mask of rows", {mask});
  add("mask of two dims", {Slice(), bools({true, false, false, true, true, false, false, true}, {4, 2})});
  add("mask beside a tensor", {mask, ints({3, 1}, {2})});
  add("mask of all", {bools(std::vector<bool>(24, true), {3, 4, 2})});
  add("mask of nothing", {bools({false, false, false}, {3})});
  add("scalar mask that holds", {bools({true}, {}), rows});
  add("scalar mask that does not", {bools({false}, {})});
  list.add("index", "transposed", {v.normal({4, 3})}, [](Inputs x) {
    return x[0].mT().index({Slice(), ints({1, 1, 3}, {3})});
  });
  list.add("index", "squared", {v.normal({3, 4})}, [](Inputs x) {
    const Tensor y = x[0].index({ints({1, 1, 2}, {3}), Slice(0, 3)});
    return y * y;
  });
  list.add("index", "what is positive", {v.nonzero({3, 4})},
           [](Inputs x) { return x[0].index({gt(x[0], 0.0)}); });
}

}  // namespace gradus::cases
