// matmul against three nested loops, and what products refuse. tests/annexes/cases/conform has PyTorch's
// answers to plain calls.
#include "autograd/compare.hpp"

namespace gradus::test_ops_products {

using namespace gradus::testing;

// a (m, n), b (n, p), both float64.
Tensor by_loops(const Tensor& a, const Tensor& b) {
  std::vector<double> c;
  for (int64_t i = 0; i < a.size(0); ++i)
    for (int64_t j = 0; j < b.size(1); ++j) {
      double sum = 0;
      for (int64_t k = 0; k < a.size(1); ++k) sum += a.at({i, k}) * b.at({k, j});
      c.push_back(sum);
    }
  return f64(c, {a.size(0), b.size(1)});
}

TEST_CASE("matrices of all sizes and layouts") {
  Draw draw;
  for (const auto& [m, n, p] : std::vector<std::tuple<int64_t, int64_t, int64_t>>{{1, 1, 1},
                                                                                  {2, 3, 4},
                                                                                  {5, 1, 7},
                                                                                  {1, 9, 1},
                                                                                  {17, 33, 9},
                                                                                  {64, 64, 64},
                                                                                  {70, 3, 130},
                                                                                  {3, 300, 5}}) {
    INFO(m << " x " << n << " x " << p);
    const Tensor a = draw({m, n}), b = draw({n, p}), at = draw({n, m}), bt = draw({p, n});
    const Tensor wide = draw({m, 2 * n}), tall = draw({3 * n, p});
    CHECK(difference(matmul(a, b), by_loops(a, b)) == "");
    CHECK(difference(matmul(at.mT(), b), by_loops(at.mT(), b)) == "");
    CHECK(difference(matmul(a, bt.mT()), by_loops(a, bt.mT())) == "");
    CHECK(difference(matmul(at.mT(), bt.mT()), by_loops(at.mT(), bt.mT())) == "");
    const Tensor left = wide.slice(1, 0, 2 * n, 2), right = tall.slice(0, 1, 3 * n, 3);
    CHECK(difference(matmul(left, right), by_loops(left, right)) == "");
    const Tensor row = draw({1, n}).expand({m, n});
    CHECK(difference(matmul(row, b), by_loops(row, b)) == "");
    const Tensor single = matmul(a.to(DType::float32), b.to(DType::float32));
    CHECK(difference(single.to(DType::float64), by_loops(a, b), 1e-4) == "");
  }
}

TEST_CASE("batches broadcast, and may be strided") {
  Draw draw;
  const Tensor a = draw({2, 1, 3, 4}), b = draw({5, 4, 2}), c = matmul(a, b);
  REQUIRE(c.shape() == Shape{2, 5, 3, 2});
  const auto item = [](const Tensor& t, int64_t i, int64_t j) { return t.select(0, i).select(0, j); };
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t j = 0; j < 5; ++j)
      CHECK(difference(item(c, i, j), by_loops(item(a, i, 0), b.select(0, j))) == "");
  const Tensor w = draw({3}), turned = draw({3, 4, 2}), shared = draw({4, 6});
  CHECK(difference(item(matmul(w, a), 1, 0), matmul(w, item(a, 1, 0))) == "");
  CHECK(difference(matmul(turned.permute({2, 0, 1}), shared).select(0, 1),
                   by_loops(turned.select(2, 1), shared)) == "");
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
  CHECK_ERROR(matmul(i64({1}), i64({1})), "[matmul]");
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
