// Views of one tensor, cat, stack and pad. Views are linear; "squared" ones make a second derivative that is
// not zero.
#include "gradus/autograd/gradcheck/cases/case_list.hpp"
#include "gradus/autograd/tensor/tensor.hpp"

namespace gradus::cases {

namespace {

class Views {
 public:
  Views(CaseList& list, const char* op, uint64_t seed) : list_(list), op_(op), values_(seed) {}

  template <class F>
  void add(const char* name, const Shape& shape, F view) {
    list_.add(op_, name, {values_.normal(shape)}, [view](Inputs x) -> Tensor { return view(x[0]); });
  }
  template <class F>
  void add_squared(const char* name, const Shape& shape, F view) {
    list_.add(op_, name, {values_.normal(shape)}, squared([view](Inputs x) { return view(x[0]); }));
  }

 private:
  CaseList& list_;
  const char* op_;
  Values values_;
};

void add_orders(CaseList& list) {
  Views t(list, "transpose", 601);
  t.add("matrix", {2, 3}, [](const Tensor& x) { return x.transpose(0, 1); });
  t.add("mT of a batch", {2, 3, 4}, [](const Tensor& x) { return x.mT(); });
  t.add("outer dims", {2, 3, 4}, [](const Tensor& x) { return x.transpose(0, -1); });
  t.add("a dim with itself", {2, 3}, [](const Tensor& x) { return 2.0 * x.transpose(1, 1); });
  t.add("zero-size", {0, 3}, [](const Tensor& x) { return x.transpose(0, 1); });
  t.add("sliced", {3, 7}, [](const Tensor& x) { return x.slice(1, 1, 7, 2).transpose(0, 1); });
  t.add_squared("squared", {2, 3}, [](const Tensor& x) { return x.transpose(0, 1); });

  Views p(list, "permute", 602);
  p.add("three dims in a circle", {2, 3, 4}, [](const Tensor& x) { return x.permute({1, 2, 0}); });
  p.add("negative dims", {2, 3, 4}, [](const Tensor& x) { return x.permute({-1, 0, -2}); });
  p.add("four dims", {2, 1, 3, 2}, [](const Tensor& x) { return x.permute({2, 0, 3, 1}); });
  p.add("0-d", {}, [](const Tensor& x) { return 2.0 * x.permute({}); });
  p.add("zero-size", {2, 0, 3}, [](const Tensor& x) { return x.permute({2, 0, 1}); });
  p.add("twice", {2, 3, 2}, [](const Tensor& x) { return x.permute({1, 2, 0}).permute({1, 2, 0}); });
  p.add_squared("squared", {2, 3, 2}, [](const Tensor& x) { return x.permute({2, 0, 1}); });
}

void add_shapes(CaseList& list) {
  Views r(list, "reshape", 603);
  r.add("flatten", {2, 3, 2}, [](const Tensor& x) { return x.reshape({-1}); });
  r.add("split a dim", {4, 3}, [](const Tensor& x) { return x.reshape({2, 2, -1}); });
  r.add("regroup", {4, 3}, [](const Tensor& x) { return x.reshape({6, 2}); });
  r.add("to 0-d", {1, 1}, [](const Tensor& x) { return x.reshape({}); });
  r.add("from 0-d", {}, [](const Tensor& x) { return x.reshape({1, 1, 1}); });
  r.add("zero-size", {0, 3}, [](const Tensor& x) { return x.reshape({3, 0, 2}); });
  r.add("transposed: a copy", {4, 3}, [](const Tensor& x) { return x.mT().reshape({2, 6}); });
  r.add("transposed: a view", {4, 3, 2}, [](const Tensor& x) {
    return x.transpose(0, 1).reshape({3, 2, 2, 2});
  });
  r.add("sliced: a copy", {3, 5}, [](const Tensor& x) { return x.slice(1, 0, 4).reshape({-1}); });
  r.add("sliced: a view", {3, 6}, [](const Tensor& x) { return x.slice(1, 0, 6, 2).reshape({3, 3, 1}); });
  r.add("expanded", {2, 1}, [](const Tensor& x) { return x.expand({2, 3}).reshape({3, 2}); });
  r.add_squared("squared", {4, 3}, [](const Tensor& x) { return x.reshape({2, 6}); });

  Views e(list, "expand", 604);
  e.add("a row", {1, 3}, [](const Tensor& x) { return x.expand({2, 3}); });
  e.add("a column", {3, 1}, [](const Tensor& x) { return x.expand({-1, 4}); });
  e.add("new dims in front", {2, 1}, [](const Tensor& x) { return x.expand({3, 2, 2}); });
  e.add("0-d", {}, [](const Tensor& x) { return x.expand({2, 3}); });
  e.add("to size 0", {1, 3}, [](const Tensor& x) { return x.expand({0, 3}); });
  r.add("same shape", {2, 3}, [](const Tensor& x) { return 2.0 * x.reshape({2, 3}); });
  e.add("same shape", {2, 3}, [](const Tensor& x) { return 2.0 * x.expand({2, 3}); });
  e.add("transposed", {2, 1, 3}, [](const Tensor& x) { return x.transpose(0, 2).expand({3, 4, 2}); });
  e.add_squared("squared", {3, 1}, [](const Tensor& x) { return x.expand({3, 4}); });

  Views s(list, "squeeze", 605);
  s.add("one dim", {2, 1, 3}, [](const Tensor& x) { return x.squeeze(1); });
  s.add("from the end", {2, 1, 3}, [](const Tensor& x) { return x.squeeze(-2); });
  s.add("a dim that is not 1", {2, 1, 3}, [](const Tensor& x) { return 2.0 * x.squeeze(0); });
  s.add("all", {1, 2, 1, 3, 1}, [](const Tensor& x) { return x.squeeze(); });
  s.add("to 0-d", {1, 1}, [](const Tensor& x) { return x.squeeze(); });
  s.add("zero-size", {1, 0}, [](const Tensor& x) { return x.squeeze(0); });
  s.add("transposed", {3, 1, 2}, [](const Tensor& x) { return x.transpose(0, 2).squeeze(1); });
  s.add_squared("squared", {2, 1, 3}, [](const Tensor& x) { return x.squeeze(1); });

  Views u(list, "unsqueeze", 606);
  u.add("in front", {2, 3}, [](const Tensor& x) { return x.unsqueeze(0); });
  u.add("in the middle", {2, 3}, [](const Tensor& x) { return x.unsqueeze(1); });
  u.add("at the end", {2, 3}, [](const Tensor& x) { return x.unsqueeze(-1); });
  u.add("0-d", {}, [](const Tensor& x) { return x.unsqueeze(0); });
  u.add("zero-size", {0, 2}, [](const Tensor& x) { return x.unsqueeze(2); });
  u.add("transposed", {3, 2}, [](const Tensor& x) { return x.mT().unsqueeze(1); });
  u.add_squared("squared", {2, 3}, [](const Tensor& x) { return x.unsqueeze(1); });
}

void add_pieces(CaseList& list) {
  Views s(list, "slice", 607);
  s.add("rows", {5, 3}, [](const Tensor& x) { return x.slice(0, 1, 4); });
  s.add("columns with a step", {3, 7}, [](const Tensor& x) { return x.slice(-1, 1, 7, 3); });
  s.add("negative bounds", {3, 6}, [](const Tensor& x) { return x.slice(1, -4, -1); });
  s.add("bounds outside", {3, 4}, [](const Tensor& x) { return x.slice(0, -9, 9, 2); });
  s.add("nothing", {3, 4}, [](const Tensor& x) { return x.slice(0, 2, 2); });
  s.add("everything", {3, 4}, [](const Tensor& x) { return 2.0 * x.slice(0, 0, 3); });
  s.add("a slice of a slice", {9, 2}, [](const Tensor& x) { return x.slice(0, 1, 9, 2).slice(0, 1, 4, 2); });
  s.add("transposed", {4, 3}, [](const Tensor& x) { return x.mT().slice(0, 1, 3); });
  s.add("overlapping pieces added", {3, 5},
        [](const Tensor& x) { return x.slice(1, 0, 3) + x.slice(1, 2, 5); });
  s.add("beside another use", {3, 5}, [](const Tensor& x) { return x.slice(1, 0, 3) * sum(x, {1}, true); });
  s.add_squared("squared", {3, 5}, [](const Tensor& x) { return x.slice(1, 1, 4); });

  Views c(list, "select", 608);
  c.add("a row", {3, 4}, [](const Tensor& x) { return x.select(0, 1); });
  c.add("the last column", {3, 4}, [](const Tensor& x) { return x.select(-1, -1); });
  c.add("of a vector", {4}, [](const Tensor& x) { return x.select(0, 2); });
  c.add("middle of three dims", {2, 3, 2}, [](const Tensor& x) { return x.select(1, -2); });
  c.add("transposed", {4, 3}, [](const Tensor& x) { return x.mT().select(0, 2); });
  c.add("one row twice", {3, 4}, [](const Tensor& x) { return x.select(0, 1) * x.select(0, 1); });
  c.add_squared("squared", {3, 4}, [](const Tensor& x) { return x.select(1, 0); });

  Views p(list, "split", 609);
  p.add("equal pieces, all used", {2, 6}, [](const Tensor& x) {
    const std::vector<Tensor> y = x.split(2, 1);
    return y[0] * y[1] + y[2];
  });
  p.add("last piece shorter", {5, 2}, [](const Tensor& x) {
    const std::vector<Tensor> y = x.split(2, 0);
    return y[0] * y[2];
  });
  p.add("one piece unused", {2, 6}, [](const Tensor& x) {
    const std::vector<Tensor> y = x.split(2, -1);
    return y[0] * y[2];
  });
  p.add("pieces in another order", {2, 6}, [](const Tensor& x) {
    const std::vector<Tensor> y = x.split({1, 2, 3}, 1);
    return cat({y[2], y[0], y[1], y[2]}, 1);
  });
  p.add("a piece of size 0", {4, 2}, [](const Tensor& x) {
    const std::vector<Tensor> y = x.split({3, 0, 1}, 0);
    return y[0] * y[2] + sum(y[1]);
  });
  p.add("transposed", {4, 3}, [](const Tensor& x) {
    const std::vector<Tensor> y = x.mT().split(2, 1);
    return y[0] * y[1];
  });

  Views h(list, "chunk", 611);
  h.add("equal pieces", {2, 6}, [](const Tensor& x) {
    const std::vector<Tensor> y = x.chunk(3, 1);
    return y[0] * y[1] + y[2];
  });
  h.add("last piece shorter", {5, 2}, [](const Tensor& x) {
    const std::vector<Tensor> y = x.chunk(3, 0);
    return y[0] * y[1] + y[2];
  });
  h.add("fewer pieces than asked for", {3, 2}, [](const Tensor& x) { return cat(x.chunk(7, 0), 1); });
  h.add("transposed", {4, 3}, [](const Tensor& x) {
    const std::vector<Tensor> y = x.mT().chunk(2, -1);
    return y[0] * y[1];
  });
  h.add("of nothing", {0, 2}, [](const Tensor& x) { return x.chunk(2, 0)[1]; });

  Views k(list, "contiguous", 610);
  k.add("transposed", {2, 3}, [](const Tensor& x) { return x.mT().contiguous(); });
  k.add("sliced", {3, 7}, [](const Tensor& x) { return x.slice(1, 0, 7, 3).contiguous(); });
  k.add("expanded", {3, 1}, [](const Tensor& x) { return x.expand({2, 3, 2}).contiguous(); });
  k.add("packed already", {2, 3}, [](const Tensor& x) { return 2.0 * x.contiguous(); });
  k.add("zero-size", {2, 0}, [](const Tensor& x) { return x.mT().contiguous(); });
  k.add_squared("squared", {2, 3}, [](const Tensor& x) { return x.mT().contiguous(); });

  Views a(list, "alias", 612);
  a.add("no subscripts", {2, 3}, [](const Tensor& x) { return x.index({}); });
  a.add("only an Ellipsis", {2, 3}, [](const Tensor& x) { return 2.0 * x.index({Ellipsis}); });
  a.add("0-d", {}, [](const Tensor& x) { return x.index({}); });
  a.add("zero-size", {0, 2}, [](const Tensor& x) { return x.index({Ellipsis}); });
  a.add("transposed", {3, 2}, [](const Tensor& x) { return x.mT().index({}); });
  a.add_squared("squared", {2, 3}, [](const Tensor& x) { return x.index({}); });
}

}  // namespace

void add_views(CaseList& list) {
  add_orders(list);
  add_shapes(list);
  add_pieces(list);
}

void add_joining(CaseList& list) {
  Values v(701);
  const auto join = [&](const char* name, const std::vector<Shape>& shapes, int64_t dim) {
    std::vector<Tensor> inputs;
    for (const Shape& s : shapes) inputs.push_back(v.normal(s));
    list.add("cat", name, inputs, [dim](Inputs x) { return cat(x, dim); });
  };
  join("rows", {{2, 3}, {1, 3}, {3, 3}}, 0);
  join("columns", {{2, 3}, {2, 1}}, -1);
  join("middle dim", {{2, 1, 3}, {2, 2, 3}}, 1);
  join("vectors", {{2}, {3}}, 0);
  join("one tensor", {{2, 3}}, 1);
  join("a piece of size 0", {{2, 3}, {2, 0}, {2, 1}}, 1);
  join("empty vectors among matrices", {{0}, {2, 3}, {0}, {2, 1}}, 1);
  join("empty vectors only", {{0}, {0}}, 0);
  list.add("cat", "one tensor three times", {v.normal({2, 3})}, [](Inputs x) {
    return cat({x[0], x[0], x[0]}, 0);
  });
  list.add("cat", "views", {v.normal({3, 2}), v.normal({2, 6}), v.normal({2, 1})}, [](Inputs x) {
    return cat({x[0].mT(), x[1].slice(1, 0, 6, 2), x[2].expand({2, 2})}, 1);
  });
  list.add("cat", "squared", {v.normal({2, 3}), v.normal({2, 2})},
           squared([](Inputs x) { return cat(x, 1); }));

  const auto pile = [&](const char* name, const Shape& shape, int64_t dim) {
    list.add("stack", name, {v.normal(shape), v.normal(shape)}, [dim](Inputs x) { return stack(x, dim); });
  };
  pile("in front", {2, 3}, 0);
  pile("in the middle", {2, 3}, 1);
  pile("at the end", {2, 3}, -1);
  pile("0-d", {}, 0);
  pile("zero-size", {0, 2}, 1);
  list.add("stack", "one tensor twice, transposed", {v.normal({2, 3})}, [](Inputs x) {
    return stack({x[0].mT(), x[0].mT()}, 1);
  });
  list.add("stack", "squared", {v.normal({3}), v.normal({3})}, squared([](Inputs x) { return stack(x, 1); }));

  const auto widen = [&](const char* name, const Shape& shape, const GradcheckFunction& f) {
    list.add("pad", name, {v.normal(shape)}, f);
  };
  widen("in front", {2, 3}, [](Inputs x) { return pad(x[0], 0, 4, 2); });
  widen("with a step", {2, 3}, [](Inputs x) { return pad(x[0], -1, 7, 1, 2); });
  widen("middle dim", {2, 2, 3}, [](Inputs x) { return pad(x[0], 1, 5, 0, 3); });
  widen("nothing", {2, 0}, [](Inputs x) { return pad(x[0], 1, 3, 1); });
  widen("transposed", {2, 3}, [](Inputs x) { return pad(x[0].mT(), 0, 5, 1); });
  widen("squared", {2, 3}, squared([](Inputs x) { return pad(x[0], 1, 5, 1); }));
}

}  // namespace gradus::cases
