// Ops that reduce dimensions, running sums, and softmax with its relatives.
#include <tuple>

#include "gradus/autograd/gradcheck/cases/case_list.hpp"

namespace gradus::cases {

namespace {

using Reduce = Tensor (*)(const Tensor&, const autograd::Dims&, bool);

Tensor distinct(Values& v, const Shape& s) { return v.distinct(s); }

template <auto kOp, int kCorrection>
Tensor corrected(const Tensor& x, const autograd::Dims& dims, bool keepdim) {
  return kOp(x, dims, kCorrection, keepdim);
}

// `needs_some`: there is no value for nothing.
void add_reduction(CaseList& list, const char* op, const std::string& form, Reduce f, Draw draw,
                   uint64_t seed, bool needs_some) {
  Values v(seed);
  const auto add = [&](const std::string& name, const Shape& shape, const autograd::Dims& dims,
                       bool keepdim) {
    list.add(op, form + name, {draw(v, shape)}, [=](Inputs x) { return f(x[0], dims, keepdim); });
  };
  const auto view = [&](const std::string& name, const Shape& shape, const GradcheckFunction& g) {
    list.add(op, form + name, {draw(v, shape)}, g);
  };
  add("everything", {2, 3}, {0, 1}, false);
  add("everything, kept", {2, 3}, {0, 1}, true);
  add("first dim", {3, 4}, {0}, false);
  add("last dim", {3, 4}, {-1}, false);
  add("last dim, kept", {3, 4}, {1}, true);
  add("middle dim", {2, 3, 4}, {-2}, false);
  add("outer dims", {2, 3, 4}, {0, 2}, true);
  add("dims out of order", {2, 3, 4}, {-1, 0}, false);
  add("four dims", {2, 2, 3, 2}, {1, 3}, false);
  add("more than one block", {3, 67}, {1}, false);
  add("kept dim of size 0", {0, 3}, {1}, false);
  if (!needs_some) add("nothing to reduce", {3, 0}, {1}, false);
  view("transposed", {4, 3}, [=](Inputs x) { return f(x[0].mT(), {1}, false); });
  view("sliced with a step", {3, 9}, [=](Inputs x) { return f(x[0].slice(1, 0, 9, 2), {0}, false); });
  view("expanded, over the kept copies", {3, 1}, [=](Inputs x) {
    return f(x[0].expand({2, 3, 4}), {1}, true);
  });
  view("scales its own input", {3, 4}, [=](Inputs x) { return x[0] * f(x[0], {1}, true); });
}

void add_all(CaseList& list, const char* op, Reduce reduce, Draw draw, uint64_t seed) {
  Values v(seed);
  const GradcheckFunction f = [reduce](Inputs x) { return reduce(x[0], {}, false); };
  list.add(op, "all dims by default", {draw(v, {2, 3})}, f);
  list.add(op, "0-d", {draw(v, {})}, f);
  list.add(op, "size-1 dims", {draw(v, {1, 3, 1})}, f);
}

// One element gets all of the gradient, so f goes by value and place.
void add_extremes(CaseList& list) {
  using Along = autograd::Extreme (*)(const Tensor&, int64_t, bool);
  using Overall = Tensor (*)(const Tensor&);
  for (const auto& [op, along, overall] :
       {std::tuple<const char*, Along, Overall>{"max", max, max}, {"min", min, min}}) {
    Values v(311);
    const auto add = [&, op = op, f = along](const char* name, const Shape& shape, int64_t dim,
                                             bool keepdim) {
      list.add(op, name, {v.distinct(shape)}, [=](Inputs x) { return f(x[0], dim, keepdim).values; });
    };
    add("first dim", {3, 4}, 0, false);
    add("last dim, kept", {3, 4}, -1, true);
    add("middle dim", {2, 3, 4}, 1, false);
    add("0-d", {}, 0, true);
    add("kept dim of size 0", {0, 3}, 1, false);
    list.add(op, "all", {v.distinct({2, 3})}, [f = overall](Inputs x) { return f(x[0]); });
    list.add(op, "transposed", {v.distinct({4, 3})},
             [f = along](Inputs x) { return f(x[0].mT(), 1, false).values; });
    list.add(op, "squared", {v.distinct({3, 4}, 0.1)},
             squared([f = along](Inputs x) { return f(x[0], 1, false).values; }));
    list.add(op, "a row taken by place", {v.distinct({3, 4})},
             [f = along](Inputs x) { return index_select(x[0] * x[0], 1, f(x[0], 1, false).indices); });
  }
}

void add_cumsum(CaseList& list) {
  Values v(310);
  const auto add = [&](const char* name, const Shape& shape, int64_t dim, bool reverse) {
    list.add("cumsum", name, {v.normal(shape)}, [=](Inputs x) { return cumsum(x[0], dim, reverse); });
  };
  add("first dim", {4, 3}, 0, false);
  add("last dim", {3, 4}, -1, false);
  add("last dim, from the end", {3, 4}, 1, true);
  add("middle dim", {2, 3, 2}, 1, false);
  add("middle dim, from the end", {2, 3, 2}, -2, true);
  add("0-d", {}, 0, false);
  add("one element", {3, 1}, 1, false);
  add("zero-size", {2, 0}, 1, false);
  list.add("cumsum", "transposed", {v.normal({4, 3})}, [](Inputs x) { return cumsum(x[0].mT(), 1); });
  list.add("cumsum", "sliced", {v.normal({2, 7})},
           [](Inputs x) { return cumsum(x[0].slice(1, 0, 7, 3), 1); });
  list.add("cumsum", "of squares", {v.normal({5})}, [](Inputs x) { return cumsum(x[0] * x[0], 0); });
}

void add_linear_recurrence(CaseList& list) {
  Values v(330);
  const auto add = [&](const char* name, const Shape& shape, int64_t dim, bool reverse) {
    list.add("linear_recurrence", name, {v.normal(shape), v.normal(shape)},
             [=](Inputs x) { return linear_recurrence(x[0], x[1], dim, reverse); });
  };
  add("first dim", {4, 3}, 0, false);
  add("last dim", {3, 4}, -1, false);
  add("last dim, from the end", {3, 4}, 1, true);
  add("middle dim", {2, 3, 2}, 1, false);
  add("middle dim, from the end", {2, 3, 2}, -2, true);
  add("one element", {3, 1}, 1, false);
  add("zero-size", {2, 0}, 1, false);
  const Tensor factors = v.normal({3, 2}), terms = v.normal({3, 2});
  list.add("linear_recurrence", "transposed", {v.normal({2, 3}), v.normal({2, 3})},
           [](Inputs x) { return linear_recurrence(x[0].mT(), x[1].mT(), 0); });
  list.add("linear_recurrence", "one tensor twice", {v.normal({4, 2})},
           [](Inputs x) { return linear_recurrence(x[0], x[0], 0); });
  list.add("linear_recurrence", "gradient of the factors only", {v.normal({3, 2})},
           [=](Inputs x) { return linear_recurrence(x[0], terms, 0); });
  list.add("linear_recurrence", "gradient of the terms only", {v.normal({3, 2})},
           [=](Inputs x) { return linear_recurrence(factors, x[0], 0, true); });
}

}  // namespace

void add_reductions(CaseList& list) {
  add_reduction(list, "sum", "", sum, normal, 301, false);
  add_reduction(list, "mean", "", mean, normal, 302, true);
  add_reduction(list, "var", "correction 1, ", corrected<var, 1>, normal, 303, true);
  add_reduction(list, "var", "correction 0, ", corrected<var, 0>, normal, 304, true);
  add_reduction(list, "std", "correction 1, ", corrected<stddev, 1>, distinct, 307, true);
  add_reduction(list, "std", "correction 0, ", corrected<stddev, 0>, distinct, 308, true);
  add_reduction(list, "amax", "", amax, distinct, 305, true);
  add_reduction(list, "amin", "", amin, distinct, 306, true);
  add_all(list, "sum", sum, normal, 320);
  add_all(list, "mean", mean, normal, 321);
  add_all(list, "var", corrected<var, 0>, normal, 322);
  add_all(list, "amax", amax, distinct, 323);
  add_all(list, "amin", amin, distinct, 324);
  Values v(325);
  list.add("var", "far from 0", {v.uniform({3, 4}, 99, 101)}, [](Inputs x) { return var(x[0], {1}); });
  list.add("amax", "ties that move together", {v.distinct({3, 1})}, [](Inputs x) {
    return amax(x[0].expand({3, 4}), {1});
  });
  list.add("amin", "ties that move together", {v.distinct({3, 1})}, [](Inputs x) {
    return amin(x[0].expand({3, 4}), {0, 1});
  });
  list.add("mean", "of nothing at all", {v.normal({0, 3})}, [](Inputs x) { return mean(x[0], {1}); });
  add_cumsum(list);
  add_linear_recurrence(list);
  add_extremes(list);
}

namespace {

using DimOp = Tensor (*)(const Tensor&, int64_t);

void add_one_dim(CaseList& list, const char* name, DimOp op, uint64_t seed) {
  Values v(seed);
  const auto add = [&](const char* what, const Shape& shape, int64_t dim) {
    list.add(name, what, {v.normal(shape)}, [=](Inputs x) { return op(x[0], dim); });
  };
  add("last dim", {3, 4}, -1);
  add("first dim", {3, 4}, 0);
  add("middle dim", {2, 3, 2}, 1);
  add("middle dim from the end", {2, 3, 2}, -2);
  add("0-d", {}, 0);
  add("one element a row", {3, 1}, 1);
  add("rows longer than a vector", {2, 37}, 1);
  add("zero rows", {0, 3}, 1);
  add("zero columns", {3, 0}, 1);
  list.add(name, "large values", {v.uniform({2, 4}, 9.9e2, 1e3)},
           [=](Inputs x) { return op(0.01 * x[0], 1); });
  list.add(name, "far from 0", {v.uniform({2, 4}, -2, 2)}, [=](Inputs x) { return op(x[0] + 1e2, 1); });
  list.add(name, "transposed", {v.normal({4, 3})}, [=](Inputs x) { return op(x[0].mT(), -1); });
  list.add(name, "sliced with a step", {v.normal({3, 8})},
           [=](Inputs x) { return op(x[0].slice(1, 1, 8, 2), 1); });
  list.add(name, "expanded", {v.normal({1, 4})}, [=](Inputs x) { return op(x[0].expand({3, 4}), 0) * x[0]; });
}

void add_logsumexp(CaseList& list) {
  Values v(403);
  const auto add = [&](const char* what, const Shape& shape, const autograd::Dims& dims, bool keepdim) {
    list.add("logsumexp", what, {v.normal(shape)}, [=](Inputs x) { return logsumexp(x[0], dims, keepdim); });
  };
  add("last dim", {3, 4}, {-1}, false);
  add("first dim", {3, 4}, {0}, false);
  add("last dim, kept", {3, 4}, {1}, true);
  add("middle dim", {2, 3, 2}, {1}, false);
  add("outer dims", {2, 3, 2}, {0, 2}, false);
  add("outer dims, kept", {2, 3, 2}, {-1, 0}, true);
  add("all dims", {2, 3}, {0, 1}, false);
  add("0-d", {}, {0}, false);
  add("one element a row", {3, 1}, {1}, false);
  add("rows longer than a vector", {2, 37}, {1}, false);
  add("zero rows", {0, 3}, {1}, false);
  list.add("logsumexp", "far from 0", {v.uniform({2, 4}, -2, 2)},
           [](Inputs x) { return logsumexp(x[0] + 1e2, {1}); });
  list.add("logsumexp", "transposed", {v.normal({4, 3})}, [](Inputs x) { return logsumexp(x[0].mT(), {1}); });
  list.add("logsumexp", "expanded", {v.normal({3, 1})}, [](Inputs x) {
    return logsumexp(x[0].expand({3, 4}), {1});
  });
  list.add("logsumexp", "some at -inf",
           {v.normal({2, 3}), bools({false, true, false, false, false, true}, {2, 3})},
           [](Inputs x) { return logsumexp(masked_fill(x[0], x[1], -kInf), {1}); });
}

}  // namespace

void add_softmax(CaseList& list) {
  add_one_dim(list, "softmax", softmax, 401);
  add_one_dim(list, "safe_softmax", safe_softmax, 405);
  add_one_dim(list, "log_softmax", log_softmax, 402);
  add_logsumexp(list);
  Values v(404);
  const Tensor mask = bools({false, true, false, false, false, true}, {2, 3});
  list.add("softmax", "some at -inf", {v.normal({2, 3}), mask},
           [](Inputs x) { return softmax(masked_fill(x[0], x[1], -kInf), 1); });
  list.add("safe_softmax", "a row at -inf, some of another",
           {v.normal({2, 3}), bools({true, true, true, false, false, true}, {2, 3})},
           [](Inputs x) { return safe_softmax(masked_fill(x[0], x[1], -kInf), 1); });
  list.add("log_softmax", "some at -inf, not read", {v.normal({2, 3}), mask},
           [](Inputs x) { return masked_fill(log_softmax(masked_fill(x[0], x[1], -kInf), 1), x[1], 0.0); });
}

}  // namespace gradus::cases
