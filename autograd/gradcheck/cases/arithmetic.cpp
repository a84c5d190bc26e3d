// Ops of two operands that broadcast.
#include "gradus/autograd/gradcheck/cases/case_list.hpp"

namespace gradus::cases {
namespace {

using BinaryOp = Tensor (*)(const Tensor&, const Tensor&);

Tensor odd(OpCases& v, const Shape& s) { return v.distinct(s, 0.1); }  // never equal to a multiple of 0.2

// The shapes and layouts that every op of this kind must support.
void add_binary(CaseList& list, const char* name, BinaryOp op, Draw a, Draw b, uint64_t seed) {
  OpCases c(list, name, seed);
  const auto add = [&](const char* what, const Shape& sa, const Shape& sb, const auto& f) {
    c.add(what, {a(c, sa), b(c, sb)}, f);
  };
  add("equal shapes", {2, 3}, {2, 3}, op);
  add("0-d with 0-d", {}, {}, op);
  add("0-d with matrix", {}, {2, 3}, op);
  add("matrix with 0-d", {2, 3}, {}, op);
  add("one element with matrix", {1}, {3, 2}, op);
  add("row over matrix", {3}, {2, 3}, op);
  add("matrix over row", {2, 3}, {1, 3}, op);
  add("matrix over column", {2, 3}, {2, 1}, op);
  add("column with row", {3, 1}, {1, 4}, op);
  add("broadcast in the middle", {2, 1, 3}, {2, 4, 3}, op);
  add("three dims both ways", {2, 1, 3}, {4, 1}, op);
  add("five dims", {2, 1, 1, 2, 1}, {3, 1, 2}, op);
  add("zero-size rows", {0, 3}, {1, 3}, op);
  add("zero-size broadcast", {2, 1}, {2, 0}, op);
  add("more than one block", {3, 70}, {3, 70}, op);
  add("both transposed", {4, 3}, {4, 3}, [op](In x, In y) { return op(x.mT(), y.mT()); });
  add("two views of one tensor", {3, 5}, {1},
      [op](In x, In y) { return op(x.slice(1, 0, 3), y + 0.23 * x.slice(1, 2, 5)); });
  c.add("one tensor twice", {b(c, {2, 3})}, [op](In x) { return op(x, x); });
}

void add_numbers(CaseList& list) {
  OpCases v(list, "", 11);
  const auto add = [&](const char* op, const char* name, const Tensor& x, auto f) {
    OpCases(list, op, 0).add(name, {x}, f);
  };
  const Shape s{2, 3};
  add("add", "a number on the right", v.positive(s), [](In x) { return x + 2.5; });
  add("add", "a number on the left", v.positive(s), [](In x) { return -2.5 + x; });
  add("sub", "a number on the right", v.positive(s), [](In x) { return x - 2.5; });
  add("sub", "a number on the left", v.positive(s), [](In x) { return 2.5 - x; });
  add("mul", "a number on the right", v.positive(s), [](In x) { return x * -1.5; });
  add("mul", "a number on the left", v.positive(s), [](In x) { return 1.5 * x; });
  add("div", "a number on the right", v.positive(s), [](In x) { return x / -1.5; });
  add("div", "a number on the left", v.positive(s), [](In x) { return 1.5 / x; });
  add("pow", "squared", v.positive(s), [](In x) { return pow(x, 2.0); });
  add("pow", "to the -0.5", v.positive(s), [](In x) { return pow(x, -0.5); });
  add("pow", "to the first", v.positive(s), [](In x) { return pow(x, 1.0); });
  add("pow", "to the zeroth", v.positive(s), [](In x) { return pow(x, 0.0); });
  const Tensor whole = tensor(std::vector<double>{3, 2, -2, 1}, {4});
  add("pow", "negative bases, whole exponents", tensor(std::vector<double>{-2, -0.5, 1.5, 3}, {4}),
      [whole](In x) { return pow(x, whole); });
  add("pow", "a number as base", v.normal({3, 2}),
      [](In x) { return pow(full({}, 1.7, DType::float64), x); });
}

}  // namespace

void add_arithmetic(CaseList& list) {
  add_binary(list, "add", add, normal, normal, 1);
  add_binary(list, "sub", sub, normal, normal, 2);
  add_binary(list, "mul", mul, normal, nonzero, 3);
  add_binary(list, "div", div, normal, positive, 4);
  add_binary(list, "pow", pow, positive, positive, 5);
  add_binary(list, "maximum", maximum, distinct, odd, 6);
  add_binary(list, "minimum", minimum, distinct, odd, 7);
  add_numbers(list);
}

}  // namespace gradus::cases
