// What every operation says of an undefined tensor, and of operands of several dtypes.
#include "autograd/compare.hpp"

namespace gradus::test_undefined {

using namespace gradus::testing;

TEST_CASE("every operation names itself when a tensor is undefined") {
  const Tensor none, x = ones({2, 2}), i = zeros({2}, DType::int64), mask = zeros({2, 2}, DType::boolean),
                     q = ones({1, 1, 2, 2});
  Generator g(1);
  const struct {
    const char* op;
    std::function<void()> call;
  } calls[] = {
      {"add", [&] { x + none; }},
      {"sub", [&] { none - 1.0; }},
      {"mul", [&] { 2.0 * none; }},
      {"div", [&] { none / x; }},
      {"pow", [&] { pow(none, 2.0); }},
      {"pow", [&] { pow(x, none); }},
      {"maximum", [&] { maximum(none, x); }},
      {"minimum", [&] { minimum(x, none); }},
      {"neg", [&] { -none; }},
      {"abs", [&] { abs(none); }},
      {"exp", [&] { exp(none); }},
      {"gelu", [&] { gelu(none); }},
      {"silu", [&] { silu(none); }},
      {"swiglu", [&] { swiglu(x, none); }},
      {"softplus", [&] { softplus(none); }},
      {"mish", [&] { mish(none); }},
      {"clamp", [&] { clamp(none, 0.0); }},
      {"clamp", [&] { clamp(none, x, x); }},
      {"sign", [&] { sign(none); }},
      {"where", [&] { where(none, x, x); }},
      {"where", [&] { where(mask, x, none); }},
      {"masked_fill", [&] { masked_fill(none, mask, 0.0); }},
      {"masked_fill", [&] { masked_fill(x, none, 0.0); }},
      {"masked_fill", [&] { masked_fill(x, mask, none); }},
      {"eq", [&] { eq(none, x); }},
      {"ne", [&] { ne(none, 1.0); }},
      {"lt", [&] { lt(none, 1.0); }},
      {"le", [&] { le(none, 1.0); }},
      {"gt", [&] { gt(none, 1.0); }},
      {"ge", [&] { ge(none, 1.0); }},
      {"sum", [&] { sum(none); }},
      {"mean", [&] { mean(none); }},
      {"var", [&] { var(none); }},
      {"amax", [&] { amax(none); }},
      {"amin", [&] { amin(none); }},
      {"max", [&] { max(none, 0); }},
      {"min", [&] { min(none); }},
      {"cumsum", [&] { cumsum(none, 0); }},
      {"linear_recurrence", [&] { linear_recurrence(x, none, 0); }},
      {"logsumexp", [&] { logsumexp(none, {0}); }},
      {"norm", [&] { norm(none); }},
      {"softmax", [&] { softmax(none, 0); }},
      {"safe_softmax", [&] { safe_softmax(none, 0); }},
      {"log_softmax", [&] { log_softmax(none, 0); }},
      {"matmul", [&] { matmul(none, x); }},
      {"mm", [&] { mm(x, none); }},
      {"bmm", [&] { bmm(none, x); }},
      {"linear", [&] { linear(none, x); }},
      {"linear", [&] { linear(x, none); }},
      {"gelu_linear", [&] { gelu_linear(none, x); }},
      {"gelu_linear", [&] { gelu_linear(x, none); }},
      {"swiglu_linear", [&] { swiglu_linear(x, none, x); }},
      {"swiglu_linear", [&] { swiglu_linear(x, x, none); }},
      {"einsum", [&] { einsum("ij->i", {none}); }},
      {"cat",
       [&] {
         cat(std::vector{x, none}, 0);
       }},
      {"stack",
       [&] {
         stack(std::vector{none, x}, 0);
       }},
      {"pad", [&] { pad(none, 0, 3, 0); }},
      {"index_select", [&] { index_select(x, 0, none); }},
      {"index_add", [&] { index_add(none, 0, i, x); }},
      {"index_add", [&] { index_add(x, 0, i, none); }},
      {"gather", [&] { gather(none, 0, i); }},
      {"gather", [&] { gather(x, 0, none); }},
      {"scatter_add", [&] { scatter_add(x, 0, none, x); }},
      {"scatter", [&] { scatter(x, 0, i, none); }},
      {"scatter", [&] { scatter(none, 0, i, 1.0); }},
      {"sort", [&] { sort(none); }},
      {"topk", [&] { topk(none, 1); }},
      {"embedding", [&] { embedding(none, i); }},
      {"embedding", [&] { embedding(x, none); }},
      {"tril", [&] { tril(none); }},
      {"layer_norm", [&] { layer_norm(none, {2}); }},
      {"rms_norm", [&] { rms_norm(none, {2}); }},
      {"rotary_embedding", [&] { rotary_embedding(none); }},
      {"rotary_embedding", [&] { rotary_embedding(x, 0, none); }},
      {"cross_entropy", [&] { cross_entropy(none, i); }},
      {"cross_entropy", [&] { cross_entropy(x, none); }},
      {"cross_entropy", [&] { cross_entropy(x, none, CrossEntropyOptions{}); }},
      {"nll_loss", [&] { nll_loss(none, i); }},
      {"nll_loss", [&] { nll_loss(x, none); }},
      {"mse_loss", [&] { mse_loss(none, x); }},
      {"l1_loss", [&] { l1_loss(x, none); }},
      {"huber_loss", [&] { huber_loss(x, none); }},
      {"smooth_l1_loss", [&] { smooth_l1_loss(none, x); }},
      {"kl_div", [&] { kl_div(x, none); }},
      {"binary_cross_entropy_with_logits", [&] { binary_cross_entropy_with_logits(none, x); }},
      {"binary_cross_entropy_with_logits", [&] { binary_cross_entropy_with_logits(x, none); }},
      {"dropout", [&] { dropout(none, 0.5, g); }},
      {"scaled_dot_product_attention", [&] { scaled_dot_product_attention(q, none, q); }},
      {"scaled_dot_product_attention", [&] { scaled_dot_product_attention(none, 1); }},
      {"argmax", [&] { argmax(none, 0); }},
      {"nonzero", [&] { nonzero(none); }},
      {"one_hot", [&] { one_hot(none); }},
      {"multinomial", [&] { multinomial(none, 1, g); }},
      {"bernoulli", [&] { bernoulli(none, g); }},
      {"transpose", [&] { none.transpose(0, 1); }},
      {"permute", [&] { none.permute({0}); }},
      {"reshape", [&] { none.reshape({1}); }},
      {"flatten", [&] { none.flatten(); }},
      {"expand", [&] { none.expand({1}); }},
      {"squeeze", [&] { none.squeeze(); }},
      {"squeeze", [&] { none.squeeze(0); }},
      {"unsqueeze", [&] { none.unsqueeze(0); }},
      {"slice", [&] { none.slice(0, 0, 1); }},
      {"select", [&] { none.select(0, 0); }},
      {"index", [&] { none.index({0}); }},
      {"split", [&] { none.split(1, 0); }},
      {"chunk", [&] { none.chunk(1, 0); }},
      {"contiguous", [&] { none.contiguous(); }},
      {"to", [&] { none.to(DType::float64); }},
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
