// Ops that take int64 indices, triangles, and Tensor::index().
#include "gradus/autograd/gradcheck/cases/case_list.hpp"

namespace gradus::cases {
namespace {

void add_index_select(CaseList& list) {
  OpCases c(list, "index_select", 801);
  const auto add = [&](const char* name, const Shape& shape, int64_t dim, const std::vector<int64_t>& index) {
    c.add(name, {shape, ints(index)}, [dim](In x, In i) { return index_select(x, dim, i); });
  };
  add("rows", {4, 3}, 0, {2, 0, 3});
  add("a row repeated", {4, 3}, 0, {1, 1, 3, 1});
  add("columns", {2, 4}, -1, {3, 0, 0});
  add("middle dim", {2, 3, 2}, 1, {2, 2, 0, 1});
  add("a vector", {4}, 0, {3, 3, 1});
  add("no index", {4, 3}, 0, {});
  add("zero-size rows", {3, 0}, 0, {2, 0});
  add("of a scalar", {}, 0, {0});
  c.add("squared", {{4, 2}, ints({3, 1, 1})}, squared([](In x, In i) { return index_select(x, 0, i); }));
}

void add_index_add(CaseList& list) {
  OpCases c(list, "index_add", 802);
  const auto add = [&](const char* name, const Shape& shape, int64_t dim, const std::vector<int64_t>& index) {
    Shape source = shape;
    source[static_cast<int>(dim < 0 ? dim + shape.size() : dim)] = static_cast<int64_t>(index.size());
    c.add(name, {shape, source, ints(index)}, [dim](In x, In s, In i) { return index_add(x, dim, i, s); });
  };
  add("rows", {4, 3}, 0, {2, 0, 3});
  add("a row repeated", {4, 3}, 0, {1, 1, 3, 1});
  add("columns", {2, 4}, -1, {3, 0, 0});
  add("middle dim", {2, 3, 2}, 1, {2, 2, 0, 1});
  add("no index", {4, 3}, 0, {});
  c.add("to a scalar", {{}, {}, ints({0})}, [](In x, In s, In i) { return index_add(x, 0, i, s); });
  c.add("onto itself", {{3, 2}, ints({1, 1, 0})}, [](In x, In i) { return index_add(x, 0, i, x * x); });
}

void add_gather(CaseList& list) {
  OpCases c(list, "gather", 803);
  const auto add = [&](const char* name, const Shape& shape, int64_t dim, const Tensor& index) {
    c.add(name, {shape, index}, [dim](In x, In i) { return gather(x, dim, i); });
  };
  add("columns", {3, 4}, 1, ints({0, 3, 2, 2, 1, 1}, {3, 2}));
  add("rows", {3, 4}, 0, ints({0, 2, 2, 1, 1, 1, 0, 2}, {2, 4}));
  add("smaller elsewhere", {3, 4}, 0, ints({2, 0, 2, 2, 1, 2}, {3, 2}));
  add("three dims", {2, 3, 2}, -2, ints({2, 0, 1, 1, 0, 0, 2, 2}, {2, 2, 2}));
  add("a vector", {4}, 0, ints({3, 3, 0}));
  add("no index", {3, 4}, 1, ints({}, {3, 0}));
  add("of a scalar", {}, 0, ints({0, 0}));
  add("a scalar index", {4}, 0, ints({2}, {}));
  c.add("transposed", {{4, 3}, ints({0, 3, 2, 2, 1, 1}, {2, 3})},
        [](In x, In i) { return gather(x.mT(), 1, i.mT()); });
  c.add("squared", {{2, 3}, ints({0, 0, 2, 1}, {2, 2})}, squared([](In x, In i) { return gather(x, 1, i); }));
}

void add_scatter_add(CaseList& list) {
  OpCases c(list, "scatter_add", 804);
  const auto add = [&](const char* name, const Shape& shape, int64_t dim, const Tensor& index) {
    c.add(name, {shape, index.shape(), index}, [dim](In x, In s, In i) { return scatter_add(x, dim, i, s); });
  };
  add("columns", {3, 4}, 1, ints({0, 3, 2, 2, 1, 1}, {3, 2}));
  add("rows", {3, 4}, 0, ints({0, 2, 2, 1, 1, 1, 0, 2}, {2, 4}));
  add("three dims", {2, 3, 2}, 1, ints({2, 0, 1, 1, 0, 0, 2, 2}, {2, 2, 2}));
  add("a vector", {4}, -1, ints({3, 3, 0}));
  add("no index", {3, 4}, 1, ints({}, {3, 0}));
  add("to a scalar", {}, 0, ints({0, 0}));
  c.add("transposed", {{4, 3}, {2, 3}, ints({0, 3, 2, 2, 1, 1}, {2, 3})},
        [](In x, In s, In i) { return scatter_add(x.mT(), 1, i.mT(), s.mT()); });
  c.add("onto itself", {{2, 3}, ints({0, 0, 2, 1, 1, 2}, {2, 3})},
        [](In x, In i) { return scatter_add(x, 1, i, x * x); });
}

void add_scatter(CaseList& list) {
  OpCases c(list, "scatter", 808);
  const Tensor index = ints({0, 3, 2, 2, 1, 1}, {2, 3});
  c.add("transposed, repeated, of a larger source", {{4, 3}, {3, 3}, index},
        squared([](In x, In s, In i) { return scatter(x.mT(), 1, i.mT(), s.mT()); }));
  c.add("a value", {{4, 3}, index}, squared([](In x, In i) { return scatter(x, 0, i, 1.5); }));
  c.add("no index", {{3, 4}, {3, 0}, ints({}, {3, 0})},
        squared([](In x, In s, In i) { return scatter(x, 1, i, s); }));
  c.add("a scalar, onto itself", {{}, ints({0, 0})}, [](In x, In i) {
    return scatter(x, 0, i, stack({x * x, x}, 0));
  });
}

void add_sorting(CaseList& list) {
  OpCases sorts(list, "sort", 809, distinct);
  sorts.add("middle dim, descending", {{2, 3, 2}}, squared([](In x) { return sort(x, 1, true).values; }));
  sorts.add("0-d", {{}}, squared([](In x) { return sort(x, 0).values; }));
  sorts.add("transposed, weighed by rank", {{3, 4}, {4, 3}},
            [](In x, In w) { return sort(x.mT()).values * w; });
  OpCases tops(list, "topk", 810, distinct);
  tops.add("of the first dim, smallest", {{3, 4}}, squared([](In x) { return topk(x, 2, 0, false).values; }));
  tops.add("sliced", {{3, 7}}, squared([](In x) { return topk(x.slice(1, 0, 7, 2), 2).values; }));
  tops.add("none", {{3, 2}}, squared([](In x) { return topk(x, 0).values; }));
}

void add_embedding(CaseList& list) {
  OpCases c(list, "embedding", 805);
  const auto plain = [](In w, In i) { return embedding(w, i); };
  c.add("a vector of indices", {{5, 3}, ints({4, 0, 4})}, plain);
  c.add("a matrix of indices", {{5, 3}, ints({4, 0, 4, 1, 1, 4}, {2, 3})}, plain);
  c.add("one index", {{5, 3}, ints({2}, {})}, plain);
  c.add("no index", {{5, 3}, ints({}, {0, 2})}, plain);
  c.add("rows of one", {{4, 1}, ints({2, 3, 3})}, plain);
  c.add("padding index not read", {{5, 3}, ints({4, 0, 4})}, [](In w, In i) { return embedding(w, i, 2); });
  c.add("tied with a product", {{4, 3}, ints({1, 1, 3})},
        [](In w, In i) { return linear(embedding(w, i), w); });
}

void add_triangles(CaseList& list) {
  const auto add = [&](OpCases c, Tensor (*f)(const Tensor&, int64_t)) {
    const auto triangle = [&](int64_t diagonal) { return [f, diagonal](In x) { return f(x, diagonal); }; };
    c.add("wide", {{3, 4}}, triangle(0));
    c.add("tall", {{4, 3}}, triangle(0));
    c.add("above the diagonal", {{3, 4}}, triangle(1));
    c.add("below the diagonal", {{3, 4}}, triangle(-1));
    c.add("batch", {{2, 3, 2}}, triangle(0));
    c.add("far outside", {{2, 3}}, triangle(5));
    c.add("zero-size", {{0, 3}}, triangle(0));
    c.add("squared", {{3, 4}}, [f](In x) { return f(x * x, 0); });
  };
  add(OpCases(list, "tril", 806), tril);
  add(OpCases(list, "triu", 807), triu);
}

}  // namespace

void add_indexing(CaseList& list) {
  for (const auto add : {add_index_select, add_index_add, add_gather, add_scatter_add, add_scatter,
                         add_sorting, add_embedding, add_triangles})
    add(list);
}

void add_subscripts(CaseList& list) {
  OpCases c(list, "index", 901);
  const auto add = [&](const char* name, const std::vector<TensorIndex>& subscripts) {
    c.add(name, {{3, 4, 2}}, [subscripts](In x) { return x.index(subscripts); });
  };
  const Tensor rows = ints({2, 0, -1, 2}), grid = ints({1, -1, 0, 1}, {2, 2});
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
  add("two tensors that broadcast", {ints({2, 0}, {2, 1}), ints({3, 1, 1})});
  add("three tensors", {ints({2, 0}), ints({3, 3}), ints({1, 1})});
  add("tensors apart", {ints({2, 0, 2}), Slice(1, 3), ints({1, 0, 1})});
  add("tensors apart by a new dim", {rows, None, rows});
  add("a tensor after a number", {1, rows});
  add("a number after a tensor", {rows, Slice(), 0});
  add("a tensor after a new dim", {None, rows});
  add("a scalar tensor", {Slice(), ints({-2}, {})});
  add("no places", {ints({})});
  add("mask of rows", {mask});
  add("mask of two dims", {Slice(), bools({true, false, false, true, true, false, false, true}, {4, 2})});
  add("mask and a tensor", {mask, ints({3, 1})});
  add("mask of all", {bools(std::vector<bool>(24, true), {3, 4, 2})});
  add("mask of nothing", {bools({false, false, false}, {3})});
  add("scalar mask that holds", {bools({true}, {}), rows});
  add("scalar mask that does not", {bools({false}, {})});
  const Tensor others = ints({1, 1, 2});
  c.add("squared", {{3, 4}}, squared([=](In x) { return x.index({others, Slice(0, 3)}); }));
  c.add("the positive elements", {c.nonzero({3, 4})}, [](In x) { return x.index({gt(x, 0.0)}); });
}

}  // namespace gradus::cases
