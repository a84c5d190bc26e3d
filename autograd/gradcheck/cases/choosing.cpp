// Ops that choose by a condition, and conversions of dtype.
#include "gradus/autograd/gradcheck/cases/case_list.hpp"

namespace gradus::cases {
namespace {

const Tensor& mask_2x3() {
  static const Tensor mask = bools({true, false, true, false, false, true}, {2, 3});
  return mask;
}

void add_where(CaseList& list) {
  OpCases c(list, "where", 201);
  const Tensor& mask = mask_2x3();
  const auto plain = [](In a, In b, In condition) { return where(condition, a, b); };
  c.add("equal shapes", {{2, 3}, {2, 3}, mask}, plain);
  c.add("both branches broadcast", {{3}, {2, 1}, mask}, plain);
  c.add("condition broadcasts", {{2, 3}, {2, 3}, bools({true, false}, {2, 1})}, plain);
  c.add("all three broadcast", {{4, 1}, {1, 3}, bools({true, false}, {2, 1, 1})}, plain);
  c.add("condition largest", {{}, {1}, mask}, plain);
  c.add("0-d", {{}, {}, bools({true}, {})}, plain);
  c.add("zero-size", {{3}, {0, 1}, bools({}, {0, 3})}, plain);
  c.add("one tensor in both branches", {{2, 3}, mask}, [](In x, In m) { return where(m, x, 3.0 * x); });
  c.add("everything transposed", {{3, 2}, {3, 2}, mask},
        [](In a, In b, In m) { return where(m, a.mT(), b.mT()) + where(m.mT(), a, b).mT(); });
  c.add("the other branch is infinite", {c.positive({2, 3}), mask},
        [](In x, In m) { return exp(where(m, x, full({}, -kInf, DType::float64))); });
}

void add_masked_fill(CaseList& list) {
  OpCases c(list, "masked_fill", 202);
  const Tensor& mask = mask_2x3();
  const auto plain = [](In x, In m) { return masked_fill(x, m, 1.5); };
  c.add("equal shapes", {{2, 3}, mask}, plain);
  c.add("mask broadcasts in front", {{4, 2, 3}, mask}, plain);
  c.add("mask broadcasts along rows", {{2, 3}, bools({true, false}, {2, 1})}, plain);
  c.add("0-d mask, not set", {{2, 3}, bools({false}, {})}, plain);
  c.add("0-d", {{}, bools({false}, {})}, plain);
  c.add("zero-size", {{0, 3}, bools({true, false, true}, {3})}, plain);
  c.add("-inf under exp", {{2, 3}, mask}, [](In x, In m) { return exp(masked_fill(x, m, -kInf)); });
  c.add("mask larger than x", {{3}, mask}, plain);
  c.add("each broadcasts the other", {{2, 1}, bools({true, false, true}, {3})}, plain);
}

void add_masked_fill_by_scalar(CaseList& list) {
  OpCases c(list, "masked_fill", 204);
  const auto plain = [](In x, In value, In m) { return masked_fill(x, m, value); };
  c.add("by a scalar", {{2, 3}, {}, mask_2x3()}, plain);
  c.add("by a scalar, mask larger than x", {{3, 1}, {}, bools({true, false, true, true}, {4})}, plain);
  c.add("by a scalar that is not used", {{2, 2}, {}, bools({false, false}, {2})}, plain);
  c.add("by its own mean", {{4}, bools({true, false, true, false}, {4})},
        [](In x, In m) { return masked_fill(x, m, mean(x)); });
}

void add_clamp_by_tensors(CaseList& list) {
  OpCases c(list, "clamp", 205);
  const auto add = [&](const char* name, const Shape& x, const Shape& min, const Shape& max, auto f) {
    c.add(name, {c.distinct(x), c.distinct(min, 0.05), c.distinct(max, 0.12)}, f);
  };
  const auto both = [](In x, In min, In max) { return clamp(x, min, max); };
  add("tensors", {3, 4}, {3, 4}, {3, 4}, both);
  add("tensors that broadcast", {2, 3, 1}, {3, 4}, {}, both);
  add("a scalar between tensors", {}, {2, 3}, {3}, both);
  add("zero-size", {0, 3}, {3}, {1}, both);
  add("by a lower tensor", {3, 4}, {4}, {}, [](In x, In min, In y) { return clamp(x, min, Tensor()) * y; });
  add("by an upper tensor", {3, 4}, {}, {3, 1}, [](In x, In y, In max) { return clamp(x, {}, max) * y; });
  add("by tensors, squared", {3, 4}, {3, 4}, {4}, squared(both));
}

void add_to(CaseList& list) {
  OpCases c(list, "to", 203);
  // Rounding to float32 makes steps of 6e-8 relative; a linear function allows a long step.
  const auto add = [&](const char* name, const Shape& shape, auto f) {
    GradcheckCase& added = c.add(name, {shape}, f);
    added.eps = 0.5;
    added.tolerance = 1e-5;
  };
  const auto there_and_back = [](In x) { return x.to(DType::float32).to(DType::float64); };
  add("float32 and back", {2, 3}, there_and_back);
  add("0-d", {}, there_and_back);
  add("zero-size", {3, 0}, there_and_back);
  add("a branch in each dtype", {3, 2},
      [](In x) { return x + (2.0 * x.to(DType::float32)).to(DType::float64); });
  c.add("float64 already", {{2, 3}}, [](In x) { return 2.0 * x.to(DType::float64); });
}

}  // namespace

void add_choosing(CaseList& list) {
  for (const auto add : {add_where, add_masked_fill, add_masked_fill_by_scalar, add_clamp_by_tensors, add_to})
    add(list);
}

}  // namespace gradus::cases
