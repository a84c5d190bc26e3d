// Views of one tensor, cat, stack and pad. Views are linear; "squared" ones have a second derivative.
#include "gradus/autograd/gradcheck/cases/case_list.hpp"

namespace gradus::cases {
namespace {

// The products of some of the pieces.
Tensor product(const std::vector<Tensor>& y, size_t i, size_t j) { return y[i] * y[j]; }
Tensor use_three(const std::vector<Tensor>& y) { return y[0] * y[1] + y[2]; }

void add_orders(CaseList& list) {
  OpCases t(list, "transpose", 601);
  t.add("matrix", {{2, 3}}, [](In x) { return x.transpose(0, 1); });
  t.add("mT of a batch", {{2, 3, 4}}, [](In x) { return x.mT(); });
  t.add("outer dims", {{2, 3, 4}}, [](In x) { return x.transpose(0, -1); });
  t.add("a dim with itself", {{2, 3}}, [](In x) { return 2.0 * x.transpose(1, 1); });
  t.add("zero-size", {{0, 3}}, [](In x) { return x.transpose(0, 1); });
  t.add("squared", {{2, 3}}, squared([](In x) { return x.transpose(0, 1); }));

  OpCases p(list, "permute", 602);
  p.add("three dims in a circle", {{2, 3, 4}}, [](In x) { return x.permute({1, 2, 0}); });
  p.add("negative dims", {{2, 3, 4}}, [](In x) { return x.permute({-1, 0, -2}); });
  p.add("four dims", {{2, 1, 3, 2}}, [](In x) { return x.permute({2, 0, 3, 1}); });
  p.add("0-d", {{}}, [](In x) { return 2.0 * x.permute({}); });
  p.add("zero-size", {{2, 0, 3}}, [](In x) { return x.permute({2, 0, 1}); });
  p.add("twice", {{2, 3, 2}}, [](In x) { return x.permute({1, 2, 0}).permute({1, 2, 0}); });
  p.add("squared", {{2, 3, 2}}, squared([](In x) { return x.permute({2, 0, 1}); }));
}

void add_shapes(CaseList& list) {
  OpCases r(list, "reshape", 603);
  r.add("flatten", {{2, 3, 2}}, [](In x) { return x.reshape({-1}); });
  r.add("split a dim", {{4, 3}}, [](In x) { return x.reshape({2, 2, -1}); });
  r.add("regroup", {{4, 3}}, [](In x) { return x.reshape({6, 2}); });
  r.add("to 0-d", {{1, 1}}, [](In x) { return x.reshape({}); });
  r.add("from 0-d", {{}}, [](In x) { return x.reshape({1, 1, 1}); });
  r.add("zero-size", {{0, 3}}, [](In x) { return x.reshape({3, 0, 2}); });
  r.add("transposed: a copy", {{4, 3}}, [](In x) { return x.mT().reshape({2, 6}); });
  r.add("transposed: a view", {{4, 3, 2}}, [](In x) { return x.transpose(0, 1).reshape({3, 2, 2, 2}); });
  r.add("sliced: a copy", {{3, 5}}, [](In x) { return x.slice(1, 0, 4).reshape({-1}); });
  r.add("sliced: a view", {{3, 6}}, [](In x) { return x.slice(1, 0, 6, 2).reshape({3, 3, 1}); });
  r.add("expanded", {{2, 1}}, [](In x) { return x.expand({2, 3}).reshape({3, 2}); });
  r.add("squared", {{4, 3}}, squared([](In x) { return x.reshape({2, 6}); }));

  OpCases e(list, "expand", 604);
  e.add("a row", {{1, 3}}, [](In x) { return x.expand({2, 3}); });
  e.add("a column", {{3, 1}}, [](In x) { return x.expand({-1, 4}); });
  e.add("new dims in front", {{2, 1}}, [](In x) { return x.expand({3, 2, 2}); });
  e.add("0-d", {{}}, [](In x) { return x.expand({2, 3}); });
  e.add("to size 0", {{1, 3}}, [](In x) { return x.expand({0, 3}); });
  r.add("same shape", {{2, 3}}, [](In x) { return 2.0 * x.reshape({2, 3}); });
  e.add("same shape", {{2, 3}}, [](In x) { return 2.0 * x.expand({2, 3}); });
  e.add("squared", {{3, 1}}, squared([](In x) { return x.expand({3, 4}); }));

  OpCases s(list, "squeeze", 605);
  s.add("one dim", {{2, 1, 3}}, [](In x) { return x.squeeze(1); });
  s.add("from the end", {{2, 1, 3}}, [](In x) { return x.squeeze(-2); });
  s.add("a dim that is not 1", {{2, 1, 3}}, [](In x) { return 2.0 * x.squeeze(0); });
  s.add("all", {{1, 2, 1, 3, 1}}, [](In x) { return x.squeeze(); });
  s.add("to 0-d", {{1, 1}}, [](In x) { return x.squeeze(); });
  s.add("zero-size", {{1, 0}}, [](In x) { return x.squeeze(0); });
  s.add("squared", {{2, 1, 3}}, squared([](In x) { return x.squeeze(1); }));

  OpCases u(list, "unsqueeze", 606);
  u.add("in front", {{2, 3}}, [](In x) { return x.unsqueeze(0); });
  u.add("in the middle", {{2, 3}}, [](In x) { return x.unsqueeze(1); });
  u.add("at the end", {{2, 3}}, [](In x) { return x.unsqueeze(-1); });
  u.add("0-d", {{}}, [](In x) { return x.unsqueeze(0); });
  u.add("zero-size", {{0, 2}}, [](In x) { return x.unsqueeze(2); });
  u.add("squared", {{2, 3}}, squared([](In x) { return x.unsqueeze(1); }));
}

void add_pieces(CaseList& list) {
  OpCases s(list, "slice", 607);
  s.add("rows", {{5, 3}}, [](In x) { return x.slice(0, 1, 4); });
  s.add("columns with a step", {{3, 7}}, [](In x) { return x.slice(-1, 1, 7, 3); });
  s.add("negative bounds", {{3, 6}}, [](In x) { return x.slice(1, -4, -1); });
  s.add("bounds outside", {{3, 4}}, [](In x) { return x.slice(0, -9, 9, 2); });
  s.add("nothing", {{3, 4}}, [](In x) { return x.slice(0, 2, 2); });
  s.add("everything", {{3, 4}}, [](In x) { return 2.0 * x.slice(0, 0, 3); });
  s.add("a slice of a slice", {{9, 2}}, [](In x) { return x.slice(0, 1, 9, 2).slice(0, 1, 4, 2); });
  s.add("overlapping pieces added", {{3, 5}}, [](In x) { return x.slice(1, 0, 3) + x.slice(1, 2, 5); });
  s.add("with another use", {{3, 5}}, [](In x) { return x.slice(1, 0, 3) * sum(x, {1}, true); });
  s.add("squared", {{3, 5}}, squared([](In x) { return x.slice(1, 1, 4); }));

  OpCases c(list, "select", 608);
  c.add("a row", {{3, 4}}, [](In x) { return x.select(0, 1); });
  c.add("the last column", {{3, 4}}, [](In x) { return x.select(-1, -1); });
  c.add("of a vector", {{4}}, [](In x) { return x.select(0, 2); });
  c.add("middle of three dims", {{2, 3, 2}}, [](In x) { return x.select(1, -2); });
  c.add("one row twice", {{3, 4}}, [](In x) { return x.select(0, 1) * x.select(0, 1); });
  c.add("squared", {{3, 4}}, squared([](In x) { return x.select(1, 0); }));

  OpCases p(list, "split", 609);
  p.add("equal pieces, all used", {{2, 6}}, [](In x) { return use_three(x.split(2, 1)); });
  p.add("last piece shorter", {{5, 2}}, [](In x) { return product(x.split(2, 0), 0, 2); });
  p.add("one piece unused", {{2, 6}}, [](In x) { return product(x.split(2, -1), 0, 2); });
  p.add("pieces in another order", {{2, 6}}, [](In x) {
    const std::vector<Tensor> y = x.split({1, 2, 3}, 1);
    return cat({y[2], y[0], y[1], y[2]}, 1);
  });
  p.add("a piece of size 0", {{4, 2}}, [](In x) {
    const std::vector<Tensor> y = x.split({3, 0, 1}, 0);
    return y[0] * y[2] + sum(y[1]);
  });

  OpCases h(list, "chunk", 611);
  h.add("equal pieces", {{2, 6}}, [](In x) { return use_three(x.chunk(3, 1)); });
  h.add("last piece shorter", {{5, 2}}, [](In x) { return use_three(x.chunk(3, 0)); });
  h.add("fewer pieces than requested", {{3, 2}}, [](In x) { return cat(x.chunk(7, 0), 1); });
  h.add("of nothing", {{0, 2}}, [](In x) { return x.chunk(2, 0)[1]; });

  OpCases k(list, "contiguous", 610);
  k.add("transposed", {{2, 3}}, [](In x) { return x.mT().contiguous(); });
  k.add("sliced", {{3, 7}}, [](In x) { return x.slice(1, 0, 7, 3).contiguous(); });
  k.add("expanded", {{3, 1}}, [](In x) { return x.expand({2, 3, 2}).contiguous(); });
  k.add("packed already", {{2, 3}}, [](In x) { return 2.0 * x.contiguous(); });
  k.add("zero-size", {{2, 0}}, [](In x) { return x.mT().contiguous(); });
  k.add("squared", {{2, 3}}, squared([](In x) { return x.mT().contiguous(); }));

  OpCases f(list, "flatten", 613);
  f.add("transposed", {{2, 3, 2}}, squared([](In x) { return x.mT().flatten(0, 1); }));
  f.add("0-d", {{}}, [](In x) { return x.flatten(); });

  OpCases a(list, "alias", 612);
  a.add("no subscripts", {{2, 3}}, [](In x) { return x.index({}); });
  a.add("only an Ellipsis", {{2, 3}}, [](In x) { return 2.0 * x.index({Ellipsis}); });
  a.add("0-d", {{}}, [](In x) { return x.index({}); });
  a.add("zero-size", {{0, 2}}, [](In x) { return x.index({Ellipsis}); });
  a.add("squared", {{2, 3}}, squared([](In x) { return x.index({}); }));
}

}  // namespace

void add_views(CaseList& list) {
  for (const auto add : {add_orders, add_shapes, add_pieces}) add(list);
}

void add_joining(CaseList& list) {
  OpCases c(list, "cat", 701);
  const auto join = [&](const char* name, const std::vector<Shape>& shapes, int64_t dim) {
    std::vector<Tensor> inputs;
    for (const Shape& s : shapes) inputs.push_back(c.normal(s));
    c.add_list(name, inputs, [dim](const std::vector<Tensor>& x) { return cat(x, dim); });
  };
  join("rows", {{2, 3}, {1, 3}, {3, 3}}, 0);
  join("columns", {{2, 3}, {2, 1}}, -1);
  join("middle dim", {{2, 1, 3}, {2, 2, 3}}, 1);
  join("vectors", {{2}, {3}}, 0);
  join("one tensor", {{2, 3}}, 1);
  join("a piece of size 0", {{2, 3}, {2, 0}, {2, 1}}, 1);
  join("empty vectors among matrices", {{0}, {2, 3}, {0}, {2, 1}}, 1);
  join("empty vectors only", {{0}, {0}}, 0);
  c.add("one tensor three times", {{2, 3}}, [](In x) { return cat({x, x, x}, 0); });
  c.add("squared", {{2, 3}, {2, 2}}, squared([](In x, In y) { return cat({x, y}, 1); }));

  OpCases s(list, "stack", 702);
  const auto stack_two = [](int64_t dim) { return [dim](In x, In y) { return stack({x, y}, dim); }; };
  s.add("in front", {{2, 3}, {2, 3}}, stack_two(0));
  s.add("in the middle", {{2, 3}, {2, 3}}, stack_two(1));
  s.add("at the end", {{2, 3}, {2, 3}}, stack_two(-1));
  s.add("0-d", {{}, {}}, stack_two(0));
  s.add("zero-size", {{0, 2}, {0, 2}}, stack_two(1));
  s.add("one tensor twice, transposed", {{2, 3}}, [](In x) { return stack({x.mT(), x.mT()}, 1); });
  s.add("squared", {{3}, {3}}, squared(stack_two(1)));

  OpCases p(list, "pad", 703);
  p.add("in front", {{2, 3}}, [](In x) { return pad(x, 0, 4, 2); });
  p.add("with a step", {{2, 3}}, [](In x) { return pad(x, -1, 7, 1, 2); });
  p.add("middle dim", {{2, 2, 3}}, [](In x) { return pad(x, 1, 5, 0, 3); });
  p.add("nothing", {{2, 0}}, [](In x) { return pad(x, 1, 3, 1); });
  p.add("squared", {{2, 3}}, squared([](In x) { return pad(x, 1, 5, 1); }));
}

}  // namespace gradus::cases
