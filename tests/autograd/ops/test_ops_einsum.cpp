// What einsum says of equations that are wrong; tests/tools/conform has PyTorch's answers to the others.
#include "autograd/compare.hpp"

namespace gradus::test_ops_einsum {

using namespace gradus::testing;

TEST_CASE("einsum of int64") {
  CHECK(difference(einsum("i,i->i", {i64({2, 3}), i64({4, 5})}), i64({8, 15})) == "");
}

TEST_CASE("einsum says which part of the equation is wrong") {
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

}  // namespace gradus::test_ops_einsum
