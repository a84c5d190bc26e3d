// Ops that choose by a condition, and conversions of dtype.
#include "gradus/autograd/gradcheck/cases/case_list.hpp"

namespace gradus::cases {
namespace {

void add_where(CaseList& list) {
  Values v(201);
  const Tensor mask = bools({true, false, true, false, false, true}, {2, 3});
  const auto add = [&](const char* name, const Tensor& condition, const Shape& a, const Shape& b) {
    list.add("where", name, {v.normal(a), v.normal(b), condition},
             [](Inputs x) { return where(x[2], x[0], x[1]); });
  };
  add("equal shapes", mask, {2, 3}, {2, 3});
  add("both branches broadcast", mask, {3}, {2, 1});
  add("condition broadcasts", bools({true, false}, {2, 1}), {2, 3}, {2, 3});
  add("all three broadcast", bools({true, false}, {2, 1, 1}), {4, 1}, {1, 3});
  add("condition largest", mask, {}, {1});
  add("0-d", bools({true}, {}), {}, {});
  add("zero-size", bools({}, {0, 3}), {3}, {0, 1});
  list.add("where", "one tensor in both branches", {v.normal({2, 3}), mask},
           [](Inputs x) { return where(x[1], x[0], 3.0 * x[0]); });
  list.add("where", "everything transposed", {v.normal({3, 2}), v.normal({3, 2}), mask},
           [](Inputs x) { return where(x[2], x[0].mT(), x[1].mT()) + where(x[2].mT(), x[0], x[1]).mT(); });
  list.add("where", "the other branch is infinite", {v.positive({2, 3}), mask},
           [](Inputs x) { return exp(where(x[1], x[0], full({}, -kInf, DType::float64))); });
}

void add_masked_fill(CaseList& list) {
  Values v(202);
  const Tensor mask = bools({true, false, true, false, false, true}, {2, 3});
  const auto add = [&](const char* name, const Shape& shape, const Tensor& m, const GradcheckFunction& f) {
    list.add("masked_fill", name, {v.normal(shape), m}, f);
  };
  const GradcheckFunction plain = [](Inputs x) { return masked_fill(x[0], x[1], 1.5); };
  add("equal shapes", {2, 3}, mask, plain);
  add("mask broadcasts in front", {4, 2, 3}, mask, plain);
  add("mask broadcasts along rows", {2, 3}, bools({true, false}, {2, 1}), plain);
  add("0-d mask, not set", {2, 3}, bools({false}, {}), plain);
  add("0-d", {}, bools({false}, {}), plain);
  add("zero-size", {0, 3}, bools({true, false, true}, {3}), plain);
  add("-inf under exp", {2, 3}, mask, [](Inputs x) { return exp(masked_fill(x[0], x[1], -kInf)); });
  add("mask larger than x", {3}, mask, plain);
  add("each broadcasts the other", {2, 1}, bools({true, false, true}, {3}), plain);
  add("transposed", {3, 2}, mask, [](Inputs x) { return masked_fill(x[0].mT(), x[1], 0.0); });
  add("sliced", {2, 7}, mask, [](Inputs x) { return masked_fill(x[0].slice(1, 0, 6, 2), x[1], 0.0); });
}

void add_masked_fill_by_scalar(CaseList& list) {
  Values v(204);
  const auto add = [&](const char* name, const Shape& shape, const Tensor& mask) {
    list.add("masked_fill", name, {v.normal(shape), v.normal({}), mask},
             [](Inputs x) { return masked_fill(x[0], x[2], x[1]); });
  };
  add("by a scalar", {2, 3}, bools({true, false, true, false, false, true}, {2, 3}));
  add("by a scalar, mask larger than x", {3, 1}, bools({true, false, true, true}, {4}));
  add("by a scalar that is not used", {2, 2}, bools({false, false}, {2}));
  list.add("masked_fill", "by its own mean", {v.normal({4}), bools({true, false, true, false}, {4})},
           [](Inputs x) { return masked_fill(x[0], x[1], mean(x[0])); });
}

void add_clamp_by_tensors(CaseList& list) {
  Values v(205);
  const auto add = [&](const char* name, const Shape& x, const Shape& min, const Shape& max,
                       const GradcheckFunction& f) {
    list.add("clamp", name, {v.distinct(x), v.distinct(min, 0.05), v.distinct(max, 0.12)}, f);
  };
  const GradcheckFunction both = [](Inputs x) { return clamp(x[0], x[1], x[2]); };
  add("tensors", {3, 4}, {3, 4}, {3, 4}, both);
  add("tensors that broadcast", {2, 3, 1}, {3, 4}, {}, both);
  add("a scalar between tensors", {}, {2, 3}, {3}, both);
  add("zero-size", {0, 3}, {3}, {1}, both);
  add("by a lower tensor", {3, 4}, {4}, {}, [](Inputs x) { return clamp(x[0], x[1], Tensor()) * x[2]; });
  add("by an upper tensor", {3, 4}, {}, {3, 1}, [](Inputs x) { return clamp(x[0], Tensor(), x[2]) * x[1]; });
  add("by tensors, squared", {3, 4}, {3, 4}, {4}, squared([](Inputs x) { return clamp(x[0], x[1], x[2]); }));
  add("by transposed tensors", {4, 3}, {4, 3}, {3, 4},
      [](Inputs x) { return clamp(x[0].mT(), x[1].mT(), x[2]); });
}

void add_to(CaseList& list) {
  Values v(203);
  // Rounding to float32 makes steps of 6e-8 relative; a linear function may be measured with a long step.
  const auto add = [&](const char* name, const Shape& shape, const GradcheckFunction& f) {
    GradcheckCase& c = list.add("to", name, {v.normal(shape)}, f);
    c.eps = 0.5;
    c.tolerance = 1e-5;
  };
  add("float32 and back", {2, 3}, [](Inputs x) { return x[0].to(DType::float32).to(DType::float64); });
  add("0-d", {}, [](Inputs x) { return x[0].to(DType::float32).to(DType::float64); });
  add("zero-size", {3, 0}, [](Inputs x) { return x[0].to(DType::float32).to(DType::float64); });
  add("transposed", {3, 2}, [](Inputs x) { return x[0].mT().to(DType::float32).to(DType::float64); });
  add("a branch in each dtype", {3, 2},
      [](Inputs x) { return x[0] + (2.0 * x[0].to(DType::float32)).to(DType::float64); });
  list.add("to", "float64 already", {v.normal({2, 3})},
           [](Inputs x) { return 2.0 * x[0].to(DType::float64); });
}

}  // namespace

void add_choosing(CaseList& list) {
  add_where(list);
  add_masked_fill(list);
  add_masked_fill_by_scalar(list);
  add_clamp_by_tensors(list);
  add_to(list);
}

}  // namespace gradus::cases
