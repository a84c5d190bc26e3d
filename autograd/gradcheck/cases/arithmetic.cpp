// Ops of two operands that broadcast.
#include "gradus/autograd/gradcheck/cases/case_list.hpp"

namespace gradus::cases {
namespace {

using BinaryOp = Tensor (*)(const Tensor&, const Tensor&);

Tensor even(Values& v, const Shape& s) { return v.distinct(s); }
Tensor odd(Values& v, const Shape& s) { return v.distinct(s, 0.1); }  // never equal to an even one

// The shapes and layouts that every op of this kind must survive.
void add_binary(CaseList& list, const char* name, BinaryOp op, Draw a, Draw b, uint64_t seed) {
  Values v(seed);
  const GradcheckFunction plain = [op](Inputs x) { return op(x[0], x[1]); };
  const auto add = [&](const char* what, const Shape& sa, const Shape& sb, const GradcheckFunction& f) {
    list.add(name, what, {a(v, sa), b(v, sb)}, f);
  };
  add("equal shapes", {2, 3}, {2, 3}, plain);
  add("0-d with 0-d", {}, {}, plain);
  add("0-d with matrix", {}, {2, 3}, plain);
  add("matrix with 0-d", {2, 3}, {}, plain);
  add("one element with matrix", {1}, {3, 2}, plain);
  add("row over matrix", {3}, {2, 3}, plain);
  add("matrix over row", {2, 3}, {1, 3}, plain);
  add("matrix over column", {2, 3}, {2, 1}, plain);
  add("column with row", {3, 1}, {1, 4}, plain);
  add("broadcast in the middle", {2, 1, 3}, {2, 4, 3}, plain);
  add("three dims both ways", {2, 1, 3}, {4, 1}, plain);
  add("five dims", {2, 1, 1, 2, 1}, {3, 1, 2}, plain);
  add("zero-size rows", {0, 3}, {1, 3}, plain);
  add("zero-size broadcast", {2, 1}, {2, 0}, plain);
  add("more than one block", {3, 70}, {3, 70}, plain);
  add("transposed with packed", {4, 3}, {3, 4}, [op](Inputs x) { return op(x[0].mT(), x[1]); });
  add("packed with transposed", {3, 4}, {4, 3}, [op](Inputs x) { return op(x[0], x[1].mT()); });
  add("both transposed", {4, 3}, {4, 3}, [op](Inputs x) { return op(x[0].mT(), x[1].mT()); });
  add("sliced with steps", {3, 8}, {7, 4},
      [op](Inputs x) { return op(x[0].slice(1, 1, 8, 2), x[1].slice(0, 1, 7, 2)); });
  add("expanded", {3, 1}, {4}, [op](Inputs x) { return op(x[0].expand({3, 4}), x[1].expand({3, 4})); });
  add("two views of one tensor", {3, 5}, {1},
      [op](Inputs x) { return op(x[0].slice(1, 0, 3), x[1] + 0.23 * x[0].slice(1, 2, 5)); });
  list.add(name, "one tensor twice", {b(v, {2, 3})}, [op](Inputs x) { return op(x[0], x[0]); });
}

void add_numbers(CaseList& list) {
  Values v(11);
  const auto add = [&](const char* op, const char* name, const GradcheckFunction& f) {
    list.add(op, name, {v.positive({2, 3})}, f);
  };
  add("add", "a number on the right", [](Inputs x) { return x[0] + 2.5; });
  add("add", "a number on the left", [](Inputs x) { return -2.5 + x[0]; });
  add("sub", "a number on the right", [](Inputs x) { return x[0] - 2.5; });
  add("sub", "a number on the left", [](Inputs x) { return 2.5 - x[0]; });
  add("mul", "a number on the right", [](Inputs x) { return x[0] * -1.5; });
  add("mul", "a number on the left", [](Inputs x) { return 1.5 * x[0]; });
  add("div", "a number on the right", [](Inputs x) { return x[0] / -1.5; });
  add("div", "a number on the left", [](Inputs x) { return 1.5 / x[0]; });
  add("pow", "squared", [](Inputs x) { return pow(x[0], 2.0); });
  add("pow", "to the -0.5", [](Inputs x) { return pow(x[0], -0.5); });
  add("pow", "to the first", [](Inputs x) { return pow(x[0], 1.0); });
  add("pow", "to the zeroth", [](Inputs x) { return pow(x[0], 0.0); });
  list.add("pow", "negative bases, whole exponents", {tensor(std::vector<double>{-2, -0.5, 1.5, 3}, {4})},
           [](Inputs x) {
             return pow(x[0], tensor(std::vector<double>{3, 2, -2, 1}, {4}));
           });
  list.add("pow", "a number as base", {v.normal({3, 2})},
           [](Inputs x) { return pow(full({}, 1.7, DType::float64), x[0]); });
}

}  // namespace

void add_arithmetic(CaseList& list) {
  add_binary(list, "add", add, normal, normal, 1);
  add_binary(list, "sub", sub, normal, normal, 2);
  add_binary(list, "mul", mul, normal, nonzero, 3);
  add_binary(list, "div", div, normal, positive, 4);
  add_binary(list, "pow", pow, positive, positive, 5);
  add_binary(list, "maximum", maximum, even, odd, 6);
  add_binary(list, "minimum", minimum, even, odd, 7);
  add_numbers(list);
}

}  // namespace gradus::cases
