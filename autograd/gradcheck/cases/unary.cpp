// Ops of one value at a time.
#include "gradus/autograd/gradcheck/cases/case_list.hpp"

namespace gradus::cases {
namespace {

Tensor wide(OpCases& v, const Shape& s) { return v.uniform(s, -6.0, 6.0); }
Tensor off_bounds(OpCases& v, const Shape& s) { return v.away_from(s, {-0.5, 0.7}); }
Tensor off_threshold(OpCases& v, const Shape& s) { return v.away_from(s, {-0.25}); }

void add_layouts(OpCases c, Tensor (*op)(const Tensor&)) {
  c.add("matrix", {{3, 4}}, op);
  c.add("0-d", {{}}, op);
  c.add("four dims", {{2, 1, 3, 2}}, op);
  c.add("zero-size", {{2, 0}}, op);
  c.add("more than one block", {{5, 41}}, op);
  c.add("used twice", {{2, 3}}, [op](In x) { return op(x) * op(x); });
}

}  // namespace

void add_unary(CaseList& list) {
  add_layouts(OpCases(list, "neg", 101), neg);
  add_layouts(OpCases(list, "abs", 102, nonzero), abs);
  add_layouts(OpCases(list, "exp", 103), exp);
  add_layouts(OpCases(list, "log", 104, positive), log);
  add_layouts(OpCases(list, "sqrt", 105, positive), sqrt);
  add_layouts(OpCases(list, "rsqrt", 106, positive), rsqrt);
  add_layouts(OpCases(list, "tanh", 107), tanh);
  add_layouts(OpCases(list, "sigmoid", 108, wide), sigmoid);
  add_layouts(OpCases(list, "relu", 109, nonzero), relu);
  add_layouts(OpCases(list, "gelu", 110, wide, "erf form, "), [](In x) { return gelu(x); });
  add_layouts(OpCases(list, "gelu", 111, wide, "tanh form, "), [](In x) { return gelu(x, Gelu::tanh); });
  add_layouts(OpCases(list, "silu", 112, wide), silu);
  add_layouts(OpCases(list, "softplus", 117, wide), [](In x) { return softplus(x); });
  add_layouts(OpCases(list, "softplus", 118, off_threshold, "beta and threshold, "),
              [](In x) { return softplus(x, -2.0, 0.5); });
  add_layouts(OpCases(list, "mish", 119, wide), mish);
  add_layouts(OpCases(list, "sin", 113), sin);
  add_layouts(OpCases(list, "cos", 114), cos);
  add_layouts(OpCases(list, "erf", 115), erf);
  add_layouts(OpCases(list, "clamp", 116, off_bounds, "two bounds, "),
              [](In x) { return clamp(x, -0.5, 0.7); });

  OpCases c(list, "clamp", 120);
  c.add("lower bound only", {c.away_from({3, 4}, {-0.5})}, [](In x) { return clamp(x, -0.5); });
  c.add("upper bound only", {c.away_from({3, 4}, {0.7})}, [](In x) { return clamp(x, -kInf, 0.7); });
  c.add("min above max", {{3, 2}}, [](In x) { return x * clamp(x, 2.0, 1.0); });
  const char* const name = "small and large values";
  const Tensor from_0 = tensor(std::vector<double>{0.05, 0.1, 1, 50, 1e4}, {5});
  const Tensor both_signs = tensor(std::vector<double>{-30, -3, 1e-8, 5, 9}, {5});
  OpCases(list, "exp", 0).add(name, {both_signs}, [](In x) { return exp(x); });
  OpCases(list, "log", 0).add(name, {from_0}, [](In x) { return log(x); });
  OpCases(list, "rsqrt", 0).add(name, {from_0}, rsqrt);
}

}  // namespace gradus::cases
