// softmax, log_softmax and logsumexp.
#include "gradus/autograd/gradcheck/cases/case_list.hpp"

namespace gradus::cases {
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
