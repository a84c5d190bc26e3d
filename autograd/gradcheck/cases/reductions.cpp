// Ops that reduce dimensions, running sums, and softmax with its relatives.
#include "gradus/autograd/gradcheck/cases/case_list.hpp"

namespace gradus::cases {
namespace {

using Dims = autograd::Dims;
using Reduce = Tensor (*)(const Tensor&, const Dims&, bool);

template <auto kOp, int kCorrection>
Tensor corrected(const Tensor& x, const Dims& dims, bool keepdim) {
  return kOp(x, dims, kCorrection, keepdim);
}

// `needs_some`: the op has no value for an empty tensor.
void add_reduction(OpCases c, Reduce f, bool needs_some) {
  const auto add = [&](const char* name, const Shape& shape, const Dims& dims, bool keepdim = false) {
    c.add(name, {shape}, [=](In x) { return f(x, dims, keepdim); });
  };
  add("everything", {2, 3}, {0, 1});
  add("everything, kept", {2, 3}, {0, 1}, true);
  add("first dim", {3, 4}, {0});
  add("last dim", {3, 4}, {-1});
  add("last dim, kept", {3, 4}, {1}, true);
  add("middle dim", {2, 3, 4}, {-2});
  add("outer dims", {2, 3, 4}, {0, 2}, true);
  add("dims out of order", {2, 3, 4}, {-1, 0});
  add("four dims", {2, 2, 3, 2}, {1, 3});
  add("more than one block", {3, 67}, {1});
  add("kept dim of size 0", {0, 3}, {1});
  if (!needs_some) add("nothing to reduce", {3, 0}, {1});
  c.add("scales its own input", {{3, 4}}, [=](In x) { return x * f(x, {1}, true); });
}

void add_all(OpCases c, Reduce reduce) {
  const auto f = [reduce](In x) { return reduce(x, {}, false); };
  c.add("all dims by default", {{2, 3}}, f);
  c.add("0-d", {{}}, f);
  c.add("size-1 dims", {{1, 3, 1}}, f);
}

// One element gets all of the gradient, so `along` goes by value and place.
void add_extremes(OpCases c, ValuesAndIndices (*along)(const Tensor&, int64_t, bool),
                  Tensor (*overall)(const Tensor&)) {
  const auto add = [&](const char* name, const Shape& shape, int64_t dim, bool keepdim) {
    c.add(name, {shape}, [=](In x) { return along(x, dim, keepdim).values; });
  };
  add("first dim", {3, 4}, 0, false);
  add("last dim, kept", {3, 4}, -1, true);
  add("middle dim", {2, 3, 4}, 1, false);
  add("0-d", {}, 0, true);
  add("kept dim of size 0", {0, 3}, 1, false);
  c.add("all", {{2, 3}}, overall);
  c.add("squared", {c.distinct({3, 4}, 0.1)}, squared([=](In x) { return along(x, 1, false).values; }));
  c.add("a row taken by place", {{3, 4}},
        [=](In x) { return index_select(x * x, 1, along(x, 1, false).indices); });
}

// add(name, shape, dim, reverse) for ops that run along a dim.
template <class Add>
void add_running(const Add& add) {
  add("first dim", {4, 3}, 0, false);
  add("last dim", {3, 4}, -1, false);
  add("last dim, from the end", {3, 4}, 1, true);
  add("middle dim", {2, 3, 2}, 1, false);
  add("middle dim, from the end", {2, 3, 2}, -2, true);
  add("one element", {3, 1}, 1, false);
  add("zero-size", {2, 0}, 1, false);
}

void add_cumsum(CaseList& list) {
  OpCases c(list, "cumsum", 310);
  add_running([&](const char* name, const Shape& shape, int64_t dim, bool reverse) {
    c.add(name, {shape}, [=](In x) { return cumsum(x, dim, reverse); });
  });
  c.add("0-d", {{}}, [](In x) { return cumsum(x, 0); });
  c.add("of squares", {{5}}, [](In x) { return cumsum(x * x, 0); });
}

void add_linear_recurrence(CaseList& list) {
  OpCases c(list, "linear_recurrence", 330);
  add_running([&](const char* name, const Shape& shape, int64_t dim, bool reverse) {
    c.add(name, {shape, shape}, [=](In a, In b) { return linear_recurrence(a, b, dim, reverse); });
  });
  const Tensor factors = c.normal({3, 2}), terms = c.normal({3, 2});
  c.add("one tensor twice", {{4, 2}}, [](In x) { return linear_recurrence(x, x, 0); });
  c.add("gradient of the factors only", {{3, 2}}, [=](In a) { return linear_recurrence(a, terms, 0); });
  c.add("gradient of the terms only", {{3, 2}}, [=](In b) { return linear_recurrence(factors, b, 0, true); });
}

void add_norm(CaseList& list) {
  add_reduction(
      OpCases(list, "norm", 340, nonzero),
      [](In x, const Dims& dims, bool keepdim) { return norm(x, 2.0, dims, keepdim); }, false);
  OpCases c(list, "norm", 341, nonzero);
  for (const double p : {3.0, 1.5, 1.0, 0.5, -1.0, -2.5, kInf, -kInf})
    c.add(concat("p = ", p), {{3, 4}}, [p](In x) { return norm(x, p, {1}); });
  c.add("p = 0", {{3, 4}}, [](In x) { return norm(x, 0.0, {1}); }).max_order = 1;
  c.add("0-d", {{}}, [](In x) { return norm(x); });
  c.add("a zero among others", {c.normal({2, 3}), bools({true, false, false}, {3})},
        [](In x, In m) { return norm(masked_fill(x, m, 0.0)); });
}

}  // namespace

void add_reductions(CaseList& list) {
  add_reduction(OpCases(list, "sum", 301), sum, false);
  add_reduction(OpCases(list, "mean", 302), mean, true);
  add_reduction(OpCases(list, "var", 303, normal, "correction 1, "), corrected<var, 1>, true);
  add_reduction(OpCases(list, "var", 304, normal, "correction 0, "), corrected<var, 0>, true);
  add_reduction(OpCases(list, "std", 307, distinct, "correction 1, "), corrected<stddev, 1>, true);
  add_reduction(OpCases(list, "std", 308, distinct, "correction 0, "), corrected<stddev, 0>, true);
  add_reduction(OpCases(list, "amax", 305, distinct), amax, true);
  add_reduction(OpCases(list, "amin", 306, distinct), amin, true);
  add_all(OpCases(list, "sum", 320), sum);
  add_all(OpCases(list, "mean", 321), mean);
  add_all(OpCases(list, "var", 322), corrected<var, 0>);
  add_all(OpCases(list, "amax", 323, distinct), amax);
  add_all(OpCases(list, "amin", 324, distinct), amin);
  OpCases far(list, "var", 325);
  far.add("far from 0", {far.uniform({3, 4}, 99, 101)}, [](In x) { return var(x, {1}); });
  OpCases(list, "amax", 326, distinct).add("ties that move together", {{3, 1}}, [](In x) {
    return amax(x.expand({3, 4}), {1});
  });
  OpCases(list, "amin", 327, distinct).add("ties that move together", {{3, 1}}, [](In x) {
    return amin(x.expand({3, 4}), {0, 1});
  });
  OpCases(list, "mean", 328).add("of nothing at all", {{0, 3}}, [](In x) { return mean(x, {1}); });
  add_cumsum(list);
  add_linear_recurrence(list);
  add_norm(list);
  add_extremes(OpCases(list, "max", 311, distinct), max, max);
  add_extremes(OpCases(list, "min", 311, distinct), min, min);
}

namespace {

void add_one_dim(OpCases c, Tensor (*op)(const Tensor&, int64_t)) {
  const auto along = [op](int64_t dim) { return [op, dim](In x) { return op(x, dim); }; };
  c.add("last dim", {{3, 4}}, along(-1));
  c.add("first dim", {{3, 4}}, along(0));
  c.add("middle dim", {{2, 3, 2}}, along(1));
  c.add("middle dim from the end", {{2, 3, 2}}, along(-2));
  c.add("0-d", {{}}, along(0));
  c.add("one element a row", {{3, 1}}, along(1));
  c.add("rows longer than a vector", {{2, 37}}, along(1));
  c.add("zero rows", {{0, 3}}, along(1));
  c.add("zero columns", {{3, 0}}, along(1));
  c.add("large values", {c.uniform({2, 4}, 9.9e2, 1e3)}, [op](In x) { return op(0.01 * x, 1); });
  c.add("far from 0", {c.uniform({2, 4}, -2, 2)}, [op](In x) { return op(x + 1e2, 1); });
}

void add_logsumexp(CaseList& list) {
  OpCases c(list, "logsumexp", 403);
  const auto add = [&](const char* what, const Shape& shape, const Dims& dims, bool keepdim = false) {
    c.add(what, {shape}, [=](In x) { return logsumexp(x, dims, keepdim); });
  };
  add("last dim", {3, 4}, {-1});
  add("first dim", {3, 4}, {0});
  add("last dim, kept", {3, 4}, {1}, true);
  add("middle dim", {2, 3, 2}, {1});
  add("outer dims", {2, 3, 2}, {0, 2});
  add("outer dims, kept", {2, 3, 2}, {-1, 0}, true);
  add("all dims", {2, 3}, {0, 1});
  add("0-d", {}, {0});
  add("one element a row", {3, 1}, {1});
  add("rows longer than a vector", {2, 37}, {1});
  add("zero rows", {0, 3}, {1});
  c.add("far from 0", {c.uniform({2, 4}, -2, 2)}, [](In x) { return logsumexp(x + 1e2, {1}); });
  c.add("some at -inf", {{2, 3}, bools({false, true, false, false, false, true}, {2, 3})},
        [](In x, In mask) { return logsumexp(masked_fill(x, mask, -kInf), {1}); });
}

}  // namespace

void add_softmax(CaseList& list) {
  add_one_dim(OpCases(list, "softmax", 401), softmax);
  add_one_dim(OpCases(list, "safe_softmax", 405), safe_softmax);
  add_one_dim(OpCases(list, "log_softmax", 402), log_softmax);
  add_logsumexp(list);
  const Tensor mask = bools({false, true, false, false, false, true}, {2, 3});
  OpCases(list, "softmax", 404).add("some at -inf", {{2, 3}, mask}, [](In x, In m) {
    return softmax(masked_fill(x, m, -kInf), 1);
  });
  OpCases(list, "safe_softmax", 406)
      .add("a row at -inf, some of another", {{2, 3}, bools({true, true, true, false, false, true}, {2, 3})},
           [](In x, In m) { return safe_softmax(masked_fill(x, m, -kInf), 1); });
  OpCases(list, "log_softmax", 407).add("some at -inf, not read", {{2, 3}, mask}, [](In x, In m) {
    return masked_fill(log_softmax(masked_fill(x, m, -kInf), 1), m, 0.0);
  });
}

}  // namespace gradus::cases
