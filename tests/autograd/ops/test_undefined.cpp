// What every operation says of an undefined tensor, and of operands of several dtypes.
#include "autograd/case_checks.hpp"
#include "autograd/compare.hpp"

namespace gradus::test_undefined {

using namespace gradus::testing;

TEST_CASE("every operation names itself when one of its tensors is undefined, or does without it") {
  // Done by other operations, or a mask or weight that only the case has.
  check_undefined(gradcheck_cases(), {"alias 0", "std 0", "log_softmax 1", "logsumexp 1", "norm 1",
                                      "safe_softmax 1", "softmax 1", "sort 1"});
}

TEST_CASE("what has no gradient, and each overload, names itself when a tensor is undefined") {
  const Tensor none, x = ones({2, 2}), i = zeros({2}, DType::int64), mask = zeros({2, 2}, DType::boolean);
  Generator g(1);
  const struct {
    const char* op;
    std::function<void()> call;
  } calls[] = {
      {"sub", [&] { none - 1.0; }},
      {"mul", [&] { 2.0 * none; }},
      {"pow", [&] { pow(none, 2.0); }},
      {"clamp", [&] { clamp(none, x, x); }},
      {"sign", [&] { sign(none); }},
      {"where", [&] { where(none, x, x); }},
      {"masked_fill", [&] { masked_fill(x, mask, none); }},
      {"eq", [&] { eq(none, x); }},
      {"ne", [&] { ne(none, 1.0); }},
      {"lt", [&] { lt(none, 1.0); }},
      {"le", [&] { le(none, 1.0); }},
      {"gt", [&] { gt(none, 1.0); }},
      {"ge", [&] { ge(none, 1.0); }},
      {"scatter", [&] { scatter(none, 0, i, 1.0); }},
      {"rotary_embedding", [&] { rotary_embedding(x, 0, none); }},
      {"cross_entropy", [&] { cross_entropy(x, none, CrossEntropyOptions{}); }},
      {"argmax", [&] { argmax(none, 0); }},
      {"nonzero", [&] { nonzero(none); }},
      {"one_hot", [&] { one_hot(none); }},
      {"multinomial", [&] { multinomial(none, 1, g); }},
      {"bernoulli", [&] { bernoulli(none, g); }},
      {"transpose", [&] { none.transpose(0, 1); }},
      {"detach", [&] { none.detach(); }},
      {"copy_", [&] { Tensor(x).copy_(none); }},
      {"copy_", [&] { Tensor().copy_(x); }},
      {"fill_", [&] { Tensor().fill_(1); }},
      {"requires_grad_", [&] { Tensor().requires_grad_(); }},
      {"set_grad", [&] { Tensor().set_grad(x); }},
      {"item", [&] { none.item(); }},
      {"at", [&] { none.at({0}); }},
      {"to_vector", [&] { none.to_vector<float>(); }},
  };
  for (const auto& [op, call] : calls) {
    const std::string said = error_of(call);
    INFO(op << ": " << said);
    CHECK(said.find(concat("[", op, "]")) == 0);
  }
}

TEST_CASE("operands of several dtypes get PyTorch's: bool, int64, floating") {
  const Tensor mask = bools({true, false}), i = i64({2, 3}), x = f32({0.5, 1.5}), d = f64({0.5, 1.5});
  CHECK(difference(mask * x, f32({0.5, 0})) == "");
  CHECK(difference(i * x, f32({1, 4.5})) == "");
  CHECK(difference(d - i, f64({-1.5, -1.5})) == "");
  CHECK(difference(mask + i, i64({3, 3})) == "");
  CHECK(difference(i / d, f64({4, 2})) == "");
  CHECK(difference(mask / i, f32({0.5, 0})) == "");
  CHECK(difference(pow(x, i), f32({0.25, 3.375})) == "");
  CHECK(difference(pow(i, d), f64({std::sqrt(2), std::pow(3, 1.5)})) == "");
  CHECK(difference(maximum(i, x), f32({2, 3})) == "");
  CHECK(difference(minimum(mask, d), f64({0.5, 0})) == "");
  CHECK(difference(lt(x, i), bools({true, true})) == "");
  CHECK(difference(eq(mask, i64({1, 1})), bools({true, false})) == "");
  CHECK(difference(where(mask, x, i), f32({0.5, 3})) == "");
  const Tensor w = leaf({1, 2}, {2});
  sum(i * w * mask).backward();
  CHECK(difference(w.grad(), f64({2, 0})) == "");
  for (const Tensor& other : {d, x.to(DType::bfloat16)}) CHECK_THROWS_AS(x * other, Error);
  CHECK_THROWS_AS(mask * x.to(DType::bfloat16), Error);
}

TEST_CASE("numbers in braces are a tensor of PyTorch's dtype") {
  CHECK(difference(tensor({1, 2}, {2}), i64({1, 2})) == "");
  CHECK(difference(tensor({1, 2.5}), f32({1, 2.5})) == "");
  CHECK(difference(tensor({0.5, 1.5}, {2, 1}), f32({0.5, 1.5}, {2, 1})) == "");
  CHECK(difference(tensor({true, false}, {2}), bools({true, false})) == "");
  CHECK(difference(tensor({true, 2}), i64({1, 2})) == "");
  CHECK(difference(tensor({(int64_t{1} << 62) + 1}), i64({(int64_t{1} << 62) + 1})) == "");
  CHECK(difference(tensor({kInf, 1.0F}), f32({kInf, 1})) == "");
  CHECK(tensor({3}, {}).shape() == Shape{});
  CHECK(tensor({}, {0}).dtype() == DType::float32);
  CHECK(error_of([] { tensor({1, 2}, {3}); }) == "[tensor] shape (3,) holds 3 values, got 2.");
}

}  // namespace gradus::test_undefined
