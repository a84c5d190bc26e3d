// matmul of any layout against its definition, and refusals. Plain calls: tests/annexes/cases/conform.
#include "autograd/by_definition.hpp"

namespace gradus::test_ops_products {

using namespace gradus::testing;

// Products of two operands in float64 and in float32.
void check_product(const Tensor& a, const Tensor& b) {
  INFO(a.shape() << " " << a.strides() << " @ " << b.shape() << " " << b.strides());
  const auto f = [](const std::vector<Tensor>& in) { return matmul(in[0], in[1]); };
  CHECK(check_by_definition(f, {a, b}) > 0);
  CHECK(check_by_definition(f, {a.to(DType::float32), b.to(DType::float32)}) > 0);
}

TEST_CASE("matrices of all sizes and layouts, and their gradients") {
  Draw draw;
  const int64_t sizes[][3] = {{1, 1, 1},   {2, 3, 4},    {5, 1, 7},    {1, 9, 1},
                              {17, 33, 9}, {64, 64, 64}, {70, 3, 130}, {3, 300, 5}};
  for (const auto& [m, n, p] : sizes) {
    const Tensor a = draw({m, n}), b = draw({n, p}), at = draw({n, m}), bt = draw({p, n});
    check_product(a, b);
    check_product(at.mT(), b);
    check_product(a, bt.mT());
    check_product(at.mT(), bt.mT());
    check_product(draw({m, 2 * n}).slice(1, 0, 2 * n, 2), draw({3 * n, p}).slice(0, 1, 3 * n, 3));
    check_product(draw({1, n}).expand({m, n}), b);
  }
}

TEST_CASE("batches broadcast, and may be strided") {
  Draw draw;
  check_product(draw({2, 1, 3, 4}), draw({5, 4, 2}));
  check_product(draw({3, 4, 2}).permute({2, 0, 1}), draw({4, 6}));
  const Tensor w = draw({3}), a = draw({2, 1, 3, 4});
  const Tensor first = matmul(w, a).select(0, 1).select(0, 0);
  CHECK(difference(first, matmul(w, a.select(0, 1).select(0, 0))) == "");
}

TEST_CASE("mm and bmm are matmul for one kind of shapes") {
  const Tensor a = ones({2, 3}), b = ones({3, 4}), c = ones({5, 2, 3}), d = ones({5, 3, 4});
  CHECK_ERROR(mm(c, b), "[mm] needs matrices, got (5, 2, 3) and (3, 4)");
  CHECK_ERROR(mm(b, a), "(3, 4)");
  CHECK_ERROR(bmm(a, b), "[bmm]");
  CHECK_ERROR(bmm(c.slice(0, 0, 1), d), "[bmm]");
}

TEST_CASE("shapes that do not fit are refused with both shapes") {
  CHECK_HAS(error_of([] { matmul(ones({2, 3}), ones({4, 5})); }), "[matmul]", "(2, 3)", "(4, 5)");
  CHECK_ERROR(matmul(full({}, 1), ones({4})), "[matmul]");
  CHECK_ERROR(matmul(ones({2, 1, 2}), ones({3, 2, 2})), "[matmul]");
  CHECK_ERROR(matmul(ones({2}), f64({1, 2})), "[matmul]");
  CHECK_ERROR(matmul(i64({1}), bools({true})), "[matmul]");
  CHECK_ERROR(linear(ones({2, 3}), ones({4, 5})),
              "[linear] needs x (..., in) and weight (out, in), got x (2, 3) and weight (4, 5)");
  CHECK_ERROR(linear(ones({2, 3}), ones({4, 3}), ones({3})), "bias must be (4,)");
}

TEST_CASE("einsum takes int64, and says which part of the equation is wrong") {
  CHECK(difference(einsum("i,i->i", {i64({2, 3}), i64({4, 5})}), i64({8, 15})) == "");
  const Tensor a = zeros({2, 3});
  const auto error = [&](const char* equation, const std::vector<Tensor>& operands) {
    return error_of([&] { einsum(equation, operands); });
  };
  CHECK(error("ij", {}) == "[einsum] needs at least one operand.");
  CHECK(error("ij,jk->ik", {a}) == "[einsum] needs a term for each operand, got 'ij,jk' and 1 operands.");
  CHECK(error("ijk", {a}) == "[einsum] the term 'ijk' must name each dimension, got shape (2, 3).");
  CHECK(error("i1", {a}) == "[einsum] a term must be of letters and at most one '...', got 'i1'.");
  CHECK(error("ij,jk", {a, a}) == "[einsum] dimensions 'j' must be equal or 1, got 3 and 2.");
  CHECK(error("ii", {a}) == "[einsum] dimensions 'i' of an operand must be equal, got shape (2, 3).");
  CHECK(error("ij->ik", {a}) ==
        "[einsum] the result must have letters of the operands, each once, got 'k' in 'ij->ik'.");
}

}  // namespace gradus::test_ops_products
