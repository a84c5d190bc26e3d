// matmul and linear.
#include "gradus/autograd/gradcheck/cases/case_list.hpp"

namespace gradus::cases {
namespace {

void add_matmul(CaseList& list) {
  Values v(501);
  const auto add = [&](const char* name, const Shape& a, const Shape& b) {
    list.add("matmul", name, {v.normal(a), v.normal(b)}, [](Inputs x) { return matmul(x[0], x[1]); });
  };
  const auto view = [&](const char* name, const Shape& a, const Shape& b, const GradcheckFunction& f) {
    list.add("matmul", name, {v.normal(a), v.normal(b)}, f);
  };
  add("vector with vector", {4}, {4});
  add("vector with matrix", {3}, {3, 4});
  add("matrix with vector", {2, 3}, {3});
  add("matrix with matrix", {2, 3}, {3, 4});
  add("row with column", {1, 3}, {3, 1});
  add("column with row", {3, 1}, {1, 2});
  add("batch with matrix", {2, 3, 2}, {2, 4});
  add("matrix with batch", {3, 2}, {2, 2, 4});
  add("batch with batch", {2, 3, 2}, {2, 2, 4});
  add("vector with batch", {3}, {2, 3, 2});
  add("batch with vector", {2, 3, 4}, {4});
  add("batches broadcast", {2, 1, 3, 2}, {3, 2, 2});
  add("batches broadcast both ways", {2, 1, 2, 3}, {1, 3, 3, 2});
  add("batch of one", {1, 2, 3}, {2, 3, 2});
  add("larger than a tile", {20, 33}, {33, 18});
  add("no rows", {0, 3}, {3, 2});
  add("nothing to sum", {2, 0}, {0, 3});
  add("empty batch", {0, 2, 3}, {3, 2});
  view("left transposed", {3, 2}, {3, 4}, [](Inputs x) { return matmul(x[0].mT(), x[1]); });
  view("right transposed", {2, 3}, {4, 3}, [](Inputs x) { return matmul(x[0], x[1].mT()); });
  view("both transposed", {3, 2}, {4, 3}, [](Inputs x) { return matmul(x[0].mT(), x[1].mT()); });
  view("batches transposed", {2, 3, 2}, {2, 4, 3}, [](Inputs x) { return matmul(x[0].mT(), x[1].mT()); });
  view("batch dims permuted", {3, 2, 2}, {2, 3, 2},
       [](Inputs x) { return matmul(x[0].transpose(0, 1), x[1].transpose(1, 2)); });
  view("sliced with steps", {4, 6}, {5, 7}, [](Inputs x) {
    return matmul(x[0].slice(0, 0, 4, 2).slice(1, 1, 6, 2), x[1].slice(0, 0, 5, 2).slice(1, 0, 7, 3));
  });
  view("expanded", {1, 3}, {3, 1}, [](Inputs x) { return matmul(x[0].expand({2, 3}), x[1].expand({3, 4})); });
  view("expanded batch", {2, 3}, {2, 3, 2}, [](Inputs x) {
    return matmul(x[0].unsqueeze(0).expand({2, 2, 3}), x[1]);
  });
  list.add("matmul", "one tensor twice", {v.normal({3, 3})}, [](Inputs x) { return matmul(x[0], x[0]); });
  list.add("matmul", "with its own transpose", {v.normal({2, 3})},
           [](Inputs x) { return matmul(x[0], x[0].mT()); });
  list.add("matmul", "three in a row", {v.normal({2, 3}), v.normal({3, 2}), v.normal({2, 4})},
           [](Inputs x) { return matmul(matmul(x[0], x[1]), x[2]); });
}

void add_strict_products(CaseList& list) {
  Values v(503);
  using Op = Tensor (*)(const Tensor&, const Tensor&);
  const auto add = [&](const char* op, Op f, const char* name, const Shape& a, const Shape& b) {
    list.add(op, name, {v.normal(a), v.normal(b)}, [f](Inputs x) { return f(x[0], x[1]); });
  };
  add("mm", mm, "matrices", {2, 3}, {3, 4});
  add("mm", mm, "nothing to sum", {2, 0}, {0, 3});
  add("bmm", bmm, "batches", {2, 3, 2}, {2, 2, 4});
  add("bmm", bmm, "empty batch", {0, 3, 2}, {0, 2, 4});
  list.add("mm", "both transposed", {v.normal({3, 2}), v.normal({4, 3})},
           [](Inputs x) { return mm(x[0].mT(), x[1].mT()); });
  list.add("mm", "one tensor twice", {v.normal({3, 3})}, [](Inputs x) { return mm(x[0], x[0]); });
  list.add("bmm", "both transposed", {v.normal({2, 3, 2}), v.normal({2, 4, 3})},
           [](Inputs x) { return bmm(x[0].mT(), x[1].mT()); });
  list.add("bmm", "one tensor twice", {v.normal({2, 3, 3})}, [](Inputs x) { return bmm(x[0], x[0]); });
}

void add_linear(CaseList& list) {
  Values v(502);
  const GradcheckFunction biased = [](Inputs x) { return linear(x[0], x[1], x[2]); };
  const GradcheckFunction bare = [](Inputs x) { return linear(x[0], x[1]); };
  const auto add = [&](const char* name, const Shape& x, int64_t out) {
    const int64_t in = x.back();
    list.add("linear", std::string(name) + ", bias", {v.normal(x), v.normal({out, in}), v.normal({out})},
             biased);
    list.add("linear", std::string(name) + ", no bias", {v.normal(x), v.normal({out, in})}, bare);
  };
  add("vector", {3}, 2);
  add("matrix", {4, 3}, 2);
  add("batch", {2, 3, 2}, 4);
  add("four dims", {2, 1, 3, 2}, 2);
  add("one in, one out", {3, 1}, 1);
  add("larger than a tile", {19, 33}, 17);
  add("no rows", {0, 3}, 2);
  add("nothing in", {2, 0}, 3);
  add("nothing out", {2, 3}, 0);
  for (const Shape& x : {Shape{3}, Shape{2, 3}})
    list.add("linear", concat("to one, from ", x), {v.normal(x), v.normal({3}), v.normal({})},
             [](Inputs in) { return linear(in[0], in[1], in[2]); });
  const Tensor stored = v.normal({3, 5}).to(DType::bfloat16);
  list.add("linear", "weight in bfloat16", {v.normal({2, 5}), v.normal({3})},
           [stored](Inputs x) { return linear(x[0], stored, x[1]); });
  const Tensor bits = v.normal({3, 5}).to(DType::q8_0);
  list.add("linear", "weight of 8 bits", {v.normal({2, 5}), v.normal({3})},
           [bits](Inputs x) { return linear(x[0], bits, x[1]); });
  const auto view = [&](const char* name, const Shape& x, const Shape& w, const GradcheckFunction& f) {
    list.add("linear", name, {v.normal(x), v.normal(w), v.normal({4})}, f);
  };
  view("input transposed", {3, 2}, {4, 3}, [](Inputs x) { return linear(x[0].mT(), x[1], x[2]); });
  view("weight transposed", {2, 3}, {3, 4}, [](Inputs x) { return linear(x[0], x[1].mT(), x[2]); });
  view("input sliced", {5, 3}, {4, 3}, [](Inputs x) { return linear(x[0].slice(0, 0, 5, 2), x[1], x[2]); });
  view("input columns sliced", {2, 7}, {4, 3},
       [](Inputs x) { return linear(x[0].slice(1, 1, 4), x[1], x[2]); });
  view("input expanded", {1, 3}, {4, 3}, [](Inputs x) { return linear(x[0].expand({2, 2, 3}), x[1], x[2]); });
  view("bias sliced and expanded", {2, 3}, {4, 3},
       [](Inputs x) { return linear(x[0], x[1], x[2].slice(0, 1, 2).expand({4})); });
  list.add("linear", "one tensor as input and weight", {v.normal({2, 3})},
           [](Inputs x) { return linear(x[0], x[0]); });
  list.add("linear", "one weight twice", {v.normal({2, 3}), v.normal({3, 3})},
           [](Inputs x) { return linear(linear(x[0], x[1]), x[1]); });
}

// In float64 these are two operations each; the same bits when they are one: test_ops_activated_linear.
void add_activated_linear(CaseList& list) {
  Values v(504);
  for (const Gelu form : {Gelu::none, Gelu::tanh}) {
    const char* const name = form == Gelu::tanh ? "tanh" : "exact";
    list.add("gelu_linear", std::string(name) + ", bias", {v.normal({2, 3}), v.normal({4, 3}), v.normal({4})},
             [form](Inputs x) { return gelu_linear(x[0], x[1], x[2], form); });
    list.add("gelu_linear", std::string(name) + ", batch, no bias", {v.normal({2, 2, 3}), v.normal({2, 3})},
             [form](Inputs x) { return gelu_linear(x[0], x[1], {}, form); });
  }
  list.add("swiglu_linear", "bias", {v.normal({2, 3}), v.normal({2, 3}), v.normal({4, 3}), v.normal({4})},
           [](Inputs x) { return swiglu_linear(x[0], x[1], x[2], x[3]); });
  list.add("swiglu_linear", "batch, no bias", {v.normal({2, 2, 3}), v.normal({2, 2, 3}), v.normal({2, 3})},
           [](Inputs x) { return swiglu_linear(x[0], x[1], x[2]); });
  list.add("swiglu_linear", "one tensor as gate and up", {v.normal({2, 3}), v.normal({4, 3})},
           [](Inputs x) { return swiglu_linear(x[0], x[0], x[1]); });
}

}  // namespace

void add_products(CaseList& list) {
  add_matmul(list);
  add_strict_products(list);
  add_linear(list);
  add_activated_linear(list);
}

}  // namespace gradus::cases
