// Ops that take int64 indices, triangles, and Tensor::index().
#include "gradus/autograd/gradcheck/cases/case_list.hpp"
#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus::cases {

namespace {

void add_index_select(CaseList& list) {
  Values v(801);
  const auto add = [&](const char* name, const Shape& shape, int64_t dim, const std::vector<int64_t>& index) {
    const auto n = static_cast<int64_t>(index.size());
    list.add("index_select", name, {v.normal(shape), ints(index, {n})},
             [dim](Inputs x) { return index_select(x[0], dim, x[1]); });
  };
  add("rows", {4, 3}, 0, {2, 0, 3});
  add("a row repeated", {4, 3}, 0, {1, 1, 3, 1});
  add("columns", {2, 4}, -1, {3, 0, 0});
  add("middle dim", {2, 3, 2}, 1, {2, 2, 0, 1});
  add("a vector", {4}, 0, {3, 3, 1});
  add("no index", {4, 3}, 0, {});
  add("zero-size rows", {3, 0}, 0, {2, 0});
  add("of a scalar", {}, 0, {0});
  list.add("index_select", "transposed", {v.normal({3, 4}), ints({3, 1, 1}, {3})},
           [](Inputs x) { return index_select(x[0].mT(), 0, x[1]); });
  list.add("index_select", "sliced", {v.normal({7, 3}), ints({2, 0, 2}, {3})},
           [](Inputs x) { return index_select(x[0].slice(0, 1, 7, 2), 0, x[1]); });
  list.add("index_select", "squared", {v.normal({4, 2}), ints({3, 1, 1}, {3})},
           squared([](Inputs x) { return index_select(x[0], 0, x[1]); }));
}

void add_index_add(CaseList& list) {
  Values v(802);
  const auto add = [&](const char* name, const Shape& shape, int64_t dim, const std::vector<int64_t>& index) {
    const auto n = static_cast<int64_t>(index.size());
    Shape source = shape;
    source[static_cast<int>(dim < 0 ? dim + shape.size() : dim)] = n;
    list.add("index_add", name, {v.normal(shape), v.normal(source), ints(index, {n})},
             [dim](Inputs x) { return index_add(x[0], dim, x[2], x[1]); });
  };
  add("rows", {4, 3}, 0, {2, 0, 3});
  add("a row repeated", {4, 3}, 0, {1, 1, 3, 1});
  add("columns", {2, 4}, -1, {3, 0, 0});
  add("middle dim", {2, 3, 2}, 1, {2, 2, 0, 1});
  add("no index", {4, 3}, 0, {});
  list.add("index_add", "to a scalar", {v.normal({}), v.normal({}), ints({0}, {1})},
           [](Inputs x) { return index_add(x[0], 0, x[2], x[1]); });
  list.add("index_add", "transposed", {v.normal({3, 4}), v.normal({3, 2}), ints({3, 3}, {2})},
           [](Inputs x) { return index_add(x[0].mT(), 0, x[2], x[1].mT()); });
  list.add("index_add", "onto itself", {v.normal({3, 2}), ints({1, 1, 0}, {3})},
           [](Inputs x) { return index_add(x[0], 0, x[1], x[0] * x[0]); });
}

void add_gather(CaseList& list) {
  Values v(803);
  const auto add = [&](const char* name, const Shape& shape, int64_t dim, const Tensor& index) {
    list.add("gather", name, {v.normal(shape), index}, [dim](Inputs x) { return gather(x[0], dim, x[1]); });
  };
  add("columns", {3, 4}, 1, ints({0, 3, 2, 2, 1, 1}, {3, 2}));
  add("rows", {3, 4}, 0, ints({0, 2, 2, 1, 1, 1, 0, 2}, {2, 4}));
  add("smaller elsewhere", {3, 4}, 0, ints({2, 0, 2, 2, 1, 2}, {3, 2}));
  add("three dims", {2, 3, 2}, -2, ints({2, 0, 1, 1, 0, 0, 2, 2}, {2, 2, 2}));
  add("a vector", {4}, 0, ints({3, 3, 0}, {3}));
  add("no index", {3, 4}, 1, ints({}, {3, 0}));
  add("of a scalar", {}, 0, ints({0, 0}, {2}));
  add("a scalar index", {4}, 0, ints({2}, {}));
  list.add("gather", "transposed", {v.normal({4, 3}), ints({0, 3, 2, 2, 1, 1}, {2, 3})},
           [](Inputs x) { return gather(x[0].mT(), 1, x[1].mT()); });
  list.add("gather", "squared", {v.normal({2, 3}), ints({0, 0, 2, 1}, {2, 2})},
           squared([](Inputs x) { return gather(x[0], 1, x[1]); }));
}

void add_scatter_add(CaseList& list) {
  Values v(804);
  const auto add = [&](const char* name, const Shape& shape, int64_t dim, const Tensor& index) {
    list.add("scatter_add", name, {v.normal(shape), v.normal(index.shape()), index},
             [dim](Inputs x) { return scatter_add(x[0], dim, x[2], x[1]); });
  };
  add("columns", {3, 4}, 1, ints({0, 3, 2, 2, 1, 1}, {3, 2}));
  add("rows", {3, 4}, 0, ints({0, 2, 2, 1, 1, 1, 0, 2}, {2, 4}));
  add("three dims", {2, 3, 2}, 1, ints({2, 0, 1, 1, 0, 0, 2, 2}, {2, 2, 2}));
  add("a vector", {4}, -1, ints({3, 3, 0}, {3}));
  add("no index", {3, 4}, 1, ints({}, {3, 0}));
  add("to a scalar", {}, 0, ints({0, 0}, {2}));
  list.add("scatter_add", "transposed",
           {v.normal({4, 3}), v.normal({2, 3}), ints({0, 3, 2, 2, 1, 1}, {2, 3})},
           [](Inputs x) { return scatter_add(x[0].mT(), 1, x[2].mT(), x[1].mT()); });
  list.add("scatter_add", "onto itself", {v.normal({2, 3}), ints({0, 0, 2, 1, 1, 2}, {2, 3})},
           [](Inputs x) { return scatter_add(x[0], 1, x[1], x[0] * x[0]); });
}

void add_embedding(CaseList& list) {
  Values v(805);
  const GradcheckFunction plain = [](Inputs x) { return embedding(x[0], x[1]); };
  list.add("embedding", "a vector of indices", {v.normal({5, 3}), ints({4, 0, 4}, {3})}, plain);
  list.add("embedding", "a matrix of indices", {v.normal({5, 3}), ints({4, 0, 4, 1, 1, 4}, {2, 3})}, plain);
  list.add("embedding", "one index", {v.normal({5, 3}), ints({2}, {})}, plain);
  list.add("embedding", "no index", {v.normal({5, 3}), ints({}, {0, 2})}, plain);
  list.add("embedding", "rows of one", {v.normal({4, 1}), ints({2, 3, 3}, {3})}, plain);
  list.add("embedding", "weight transposed", {v.normal({3, 5}), ints({4, 0, 4}, {3})},
           [](Inputs x) { return embedding(x[0].mT(), x[1]); });
  list.add("embedding", "padding index not read", {v.normal({5, 3}), ints({4, 0, 4}, {3})},
           [](Inputs x) { return embedding(x[0], x[1], 2); });
  list.add("embedding", "tied with a product", {v.normal({4, 3}), ints({1, 1, 3}, {3})},
           [](Inputs x) { return linear(embedding(x[0], x[1]), x[0]); });
}

void add_triangles(CaseList& list) {
  using Op = Tensor (*)(const Tensor&, int64_t);
  Values v(806);
  for (const auto& [op, f] : {std::pair<const char*, Op>{"tril", tril}, {"triu", triu}}) {
    const auto add = [&, op = op, f = f](const char* name, const Shape& shape, int64_t diagonal) {
      list.add(op, name, {v.normal(shape)}, [f, diagonal](Inputs x) { return f(x[0], diagonal); });
    };
    add("wide", {3, 4}, 0);
    add("tall", {4, 3}, 0);
    add("above the diagonal", {3, 4}, 1);
    add("below the diagonal", {3, 4}, -1);
    add("batch", {2, 3, 2}, 0);
    add("far outside", {2, 3}, 5);
    add("zero-size", {0, 3}, 0);
    list.add(op, "transposed", {v.normal({4, 3})}, [f = f](Inputs x) { return f(x[0].mT(), 0); });
    list.add(op, "squared", {v.normal({3, 4})}, [f = f](Inputs x) { return f(x[0] * x[0], 0); });
  }
}

}  // namespace

void add_indexing(CaseList& list) {
  add_index_select(list);
  add_index_add(list);
  add_gather(list);
  add_scatter_add(list);
  add_embedding(list);
  add_triangles(list);
}

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
  list.add("index", "squared", {v.normal({3, 4})}, squared([](Inputs x) {
             return x[0].index({ints({1, 1, 2}, {3}), Slice(0, 3)});
           }));
  list.add("index", "what is positive", {v.nonzero({3, 4})},
           [](Inputs x) { return x[0].index({gt(x[0], 0.0)}); });
}

}  // namespace gradus::cases
