// Ops of one value at a time.
#include "gradus/autograd/gradcheck/cases/case_list.hpp"

namespace gradus::cases {
namespace {

using UnaryOp = Tensor (*)(const Tensor&);

Tensor wide(Values& v, const Shape& s) { return v.uniform(s, -6.0, 6.0); }
Tensor off_bounds(Values& v, const Shape& s) { return v.away_from(s, {-0.5, 0.7}); }

void add_layouts(CaseList& list, const char* name, const std::string& form, UnaryOp op, Draw draw,
                 uint64_t seed) {
  Values v(seed);
  const GradcheckFunction plain = [op](Inputs x) { return op(x[0]); };
  const auto add = [&](const std::string& what, const Shape& shape, const GradcheckFunction& f) {
    list.add(name, form + what, {draw(v, shape)}, f);
  };
  add("matrix", {3, 4}, plain);
  add("0-d", {}, plain);
  add("four dims", {2, 1, 3, 2}, plain);
  add("zero-size", {2, 0}, plain);
  add("more than one block", {5, 41}, plain);
  add("transposed", {4, 3}, [op](Inputs x) { return op(x[0].mT()); });
  add("sliced with a step", {3, 7}, [op](Inputs x) { return op(x[0].slice(-1, 1, 7, 2)); });
  add("expanded", {3, 1}, [op](Inputs x) { return op(x[0].expand({2, 3, 2})); });
  add("used twice", {2, 3}, [op](Inputs x) { return op(x[0]) * op(x[0]); });
}

}  // namespace

void add_unary(CaseList& list) {
  add_layouts(list, "neg", "", neg, normal, 101);
  add_layouts(list, "abs", "", abs, nonzero, 102);
  add_layouts(list, "exp", "", exp, normal, 103);
  add_layouts(list, "log", "", log, positive, 104);
  add_layouts(list, "sqrt", "", sqrt, positive, 105);
  add_layouts(list, "rsqrt", "", rsqrt, positive, 106);
  add_layouts(list, "tanh", "", tanh, normal, 107);
  add_layouts(list, "sigmoid", "", sigmoid, wide, 108);
  add_layouts(list, "relu", "", relu, nonzero, 109);
  add_layouts(
      list, "gelu", "erf form, ", [](const Tensor& x) { return gelu(x); }, wide, 110);
  add_layouts(
      list, "gelu", "tanh form, ", [](const Tensor& x) { return gelu(x, Gelu::tanh); }, wide, 111);
  add_layouts(list, "silu", "", silu, wide, 112);
  add_layouts(
      list, "softplus", "", [](const Tensor& x) { return softplus(x); }, wide, 117);
  add_layouts(
      list, "softplus", "beta and threshold, ", [](const Tensor& x) { return softplus(x, -2.0, 0.5); },
      [](Values& v, const Shape& s) { return v.away_from(s, {-0.25}); }, 118);
  add_layouts(list, "mish", "", mish, wide, 119);
  add_layouts(list, "sin", "", sin, normal, 113);
  add_layouts(list, "cos", "", cos, normal, 114);
  add_layouts(list, "erf", "", erf, normal, 115);
  add_layouts(
      list, "clamp", "two bounds, ", [](const Tensor& x) { return clamp(x, -0.5, 0.7); }, off_bounds, 116);

  Values v(120);
  const auto one = [&](const char* op, const char* name, const Tensor& x, UnaryOp f) {
    list.add(op, name, {x}, [f](Inputs in) { return f(in[0]); });
  };
  one("clamp", "lower bound only", v.away_from({3, 4}, {-0.5}),
      [](const Tensor& x) { return clamp(x, -0.5); });
  one("clamp", "upper bound only", v.away_from({3, 4}, {0.7}),
      [](const Tensor& x) { return clamp(x, -std::numeric_limits<double>::infinity(), 0.7); });
  one("clamp", "min above max", v.normal({3, 2}), [](const Tensor& x) { return x * clamp(x, 2.0, 1.0); });
  one("exp", "small and large values", tensor(std::vector<double>{-30, -3, 1e-8, 5, 9}, {5}), exp);
  one("log", "small and large values", tensor(std::vector<double>{0.05, 0.1, 1, 50, 1e4}, {5}), log);
  one("rsqrt", "small and large values", tensor(std::vector<double>{0.05, 0.1, 1, 50, 1e4}, {5}), rsqrt);
}

}  // namespace gradus::cases
