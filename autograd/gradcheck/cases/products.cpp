// matmul and linear.
#include "gradus/autograd/gradcheck/cases/case_list.hpp"
#include "gradus/autograd/kernels/fast/fast_kernels.hpp"

namespace gradus::cases {
namespace {

void add_matmul(CaseList& list) {
  OpCases c(list, "matmul", 501);
  c.add("vector with vector", {{4}, {4}}, matmul);
  c.add("vector with matrix", {{3}, {3, 4}}, matmul);
  c.add("matrix with vector", {{2, 3}, {3}}, matmul);
  c.add("matrix with matrix", {{2, 3}, {3, 4}}, matmul);
  c.add("row with column", {{1, 3}, {3, 1}}, matmul);
  c.add("column with row", {{3, 1}, {1, 2}}, matmul);
  c.add("batch with matrix", {{2, 3, 2}, {2, 4}}, matmul);
  c.add("matrix with batch", {{3, 2}, {2, 2, 4}}, matmul);
  c.add("batch with batch", {{2, 3, 2}, {2, 2, 4}}, matmul);
  c.add("vector with batch", {{3}, {2, 3, 2}}, matmul);
  c.add("batch with vector", {{2, 3, 4}, {4}}, matmul);
  c.add("batches broadcast", {{2, 1, 3, 2}, {3, 2, 2}}, matmul);
  c.add("batches broadcast both ways", {{2, 1, 2, 3}, {1, 3, 3, 2}}, matmul);
  c.add("batch of one", {{1, 2, 3}, {2, 3, 2}}, matmul);
  c.add("larger than a tile", {{20, 33}, {33, 18}}, matmul);
  c.add("no rows", {{0, 3}, {3, 2}}, matmul);
  c.add("nothing to sum", {{2, 0}, {0, 3}}, matmul);
  c.add("empty batch", {{0, 2, 3}, {3, 2}}, matmul);
  const auto both_transposed = [](In a, In b) { return matmul(a.mT(), b.mT()); };
  c.add("both transposed", {{3, 2}, {4, 3}}, both_transposed);
  c.add("batches transposed", {{2, 3, 2}, {2, 4, 3}}, both_transposed);
  c.add("batch dims permuted", {{3, 2, 2}, {2, 3, 2}},
        [](In a, In b) { return matmul(a.transpose(0, 1), b.transpose(1, 2)); });
  c.add("one tensor twice", {{3, 3}}, [](In a) { return matmul(a, a); });
  c.add("with its own transpose", {{2, 3}}, [](In a) { return matmul(a, a.mT()); });
  c.add("three in a row", {{2, 3}, {3, 2}, {2, 4}}, [](In a, In b, In d) { return matmul(matmul(a, b), d); });
}

void add_strict_products(CaseList& list) {
  OpCases m(list, "mm", 503);
  m.add("matrices", {{2, 3}, {3, 4}}, mm);
  m.add("nothing to sum", {{2, 0}, {0, 3}}, mm);
  m.add("one tensor twice", {{3, 3}}, [](In a) { return mm(a, a); });
  OpCases b(list, "bmm", 505);
  b.add("batches", {{2, 3, 2}, {2, 2, 4}}, bmm);
  b.add("empty batch", {{0, 3, 2}, {0, 2, 4}}, bmm);
  b.add("one tensor twice", {{2, 3, 3}}, [](In x) { return bmm(x, x); });
}

void add_linear(CaseList& list) {
  OpCases c(list, "linear", 502);
  const auto biased = [](In x, In w, In b) { return linear(x, w, b); };
  const auto bare = [](In x, In w) { return linear(x, w); };
  const auto add = [&](const std::string& name, const Shape& x, int64_t out) {
    c.add(name + ", bias", {x, {out, x.back()}, {out}}, biased);
    c.add(name + ", no bias", {x, {out, x.back()}}, bare);
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
  c.add("to one, from (3,)", {{3}, {3}, {}}, biased);
  c.add("to one, from (2, 3)", {{2, 3}, {3}, {}}, biased);
  if (kernels::fast_kernels().stored_linear) {
    const Tensor stored = c.normal({3, 5}).to(DType::bfloat16);
    c.add("weight in bfloat16", {{2, 5}, {3}}, [stored](In x, In b) { return linear(x, stored, b); });
    const Tensor bits = c.normal({3, 5}).to(DType::q8_0);
    c.add("weight of 8 bits", {{2, 5}, {3}}, [bits](In x, In b) { return linear(x, bits, b); });
  }
  c.add("one tensor as input and weight", {{2, 3}}, [](In x) { return linear(x, x); });
  c.add("one weight twice", {{2, 3}, {3, 3}}, [](In x, In w) { return linear(linear(x, w), w); });
}

// In float64 these are two operations each. test_ops_activated_linear checks the fused one.
void add_activated_linear(CaseList& list) {
  OpCases g(list, "gelu_linear", 504);
  for (const auto& [name, form] : {std::pair("exact", Gelu::none), {"tanh", Gelu::tanh}}) {
    g.add(concat(name, ", bias"), {{2, 3}, {4, 3}, {4}},
          [f = form](In x, In w, In b) { return gelu_linear(x, w, b, f); });
    g.add(concat(name, ", batch, no bias"), {{2, 2, 3}, {2, 3}},
          [f = form](In x, In w) { return gelu_linear(x, w, {}, f); });
  }
  OpCases s(list, "swiglu_linear", 506);
  s.add("bias", {{2, 3}, {2, 3}, {4, 3}, {4}}, swiglu_linear);
  s.add("batch, no bias", {{2, 2, 3}, {2, 2, 3}, {2, 3}},
        [](In x, In y, In w) { return swiglu_linear(x, y, w); });
  s.add("one tensor as gate and up", {{2, 3}, {4, 3}}, [](In x, In w) { return swiglu_linear(x, x, w); });
}

void add_einsum(CaseList& list) {
  OpCases c(list, "einsum", 507);
  const std::pair<const char*, std::vector<Shape>> rows[] = {
      {"...ii->...i", {{2, 3, 3}}},
      {"iiij->ji", {{2, 2, 2, 3}}},
      {"ij->", {{2, 3}}},
      {"bij, bjk -> bik", {{2, 2, 3}, {2, 3, 2}}},
      {"ij,ij->j", {{2, 3}, {2, 3}}},
      {"b...i,...io->b...o", {{2, 3, 2}, {3, 2, 2}}},
      {"ij,jk->ik", {{2, 1}, {3, 2}}},
      {"bn,anm,bm->ba", {{2, 2}, {3, 2, 3}, {2, 3}}},
      {"...,...->...", {{2, 1}, {3}}},
      {"ac,cb->ab", {{0, 3}, {3, 2}}},
  };
  for (const auto& [equation, shapes] : rows) {
    std::vector<Tensor> inputs;
    for (const Shape& s : shapes) inputs.push_back(c.normal(s));
    c.add_list(equation, inputs,
               squared([e = equation](const std::vector<Tensor>& x) { return einsum(e, x); }));
  }
  c.add("of itself", {{3, 3}}, [](In x) { return einsum("ij,ji->", {x, x}); });
}

}  // namespace

void add_products(CaseList& list) {
  for (const auto add : {add_matmul, add_strict_products, add_linear, add_activated_linear, add_einsum})
    add(list);
}

}  // namespace gradus::cases
