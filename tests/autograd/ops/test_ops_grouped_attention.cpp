// Attention whose heads share keys and values (enable_gqa) against the same with every head written out.
#include "autograd/compare.hpp"

namespace gradus::test_ops_grouped_attention {

using namespace gradus::testing;

/// Head by head with plain products: head h of q meets head h / (nh / n) of the n of k and v.
Tensor head_by_head(const Tensor& q, const Tensor& k, const Tensor& v, bool causal) {
  const int64_t T = q.size(2), S = k.size(2), group = q.size(1) / k.size(1);
  std::vector<Tensor> heads;
  for (int64_t h = 0; h < q.size(1); ++h) {
    Tensor scores =
        matmul(q.select(1, h), k.select(1, h / group).mT()) / std::sqrt(static_cast<double>(q.size(3)));
    if (causal) scores = masked_fill(scores, eq(tril(ones({T, S}), S - T), 0.0), -kInf);
    heads.push_back(matmul(softmax(scores, -1), v.select(1, h / group)));
  }
  return stack(heads, 1);
}

TEST_CASE("grouped attention and its gradients are those of heads written out") {
  Generator g(9);
  for (const auto& [heads, kv_heads] :
       std::vector<std::pair<int64_t, int64_t>>{{6, 1}, {6, 2}, {6, 3}, {6, 6}, {4, 2}})
    for (const int64_t keys : {70, 75})
      for (const bool causal : {false, true}) {
        INFO(heads << " heads, " << kv_heads << " of keys, " << keys << " keys, causal " << causal);
        const auto draw = [&](int64_t n, int64_t length) {
          return randn({2, n, length, 4}, g, DType::float64).requires_grad_();
        };
        const Tensor q = draw(heads, 70), k = draw(kv_heads, keys), v = draw(kv_heads, keys),
                     gy = randn({2, heads, 70, 4}, g, DType::float64);
        const Tensor y = scaled_dot_product_attention(q, k, v, {.causal = causal, .enable_gqa = true});
        const Tensor expected = head_by_head(q, k, v, causal);
        CHECK(difference(y, expected) == "");
        const std::vector<Tensor> grads = grad({sum(y * gy)}, {q, k, v}),
                                  wanted = grad({sum(expected * gy)}, {q, k, v});
        for (size_t i = 0; i < 3; ++i) CHECK(difference(grads[i], wanted[i], 1e-11) == "");
      }
}

TEST_CASE("what no kernel does is grouped too: masks, fewer dimensions") {
  Generator g(10);
  const Tensor q = randn({2, 4, 3, 2}, g, DType::float64), k = randn({2, 2, 5, 2}, g, DType::float64),
               v = randn({2, 2, 5, 2}, g, DType::float64);
  const Tensor all = zeros({3, 5}, DType::float64);
  const Tensor expected = head_by_head(q, k, v, false);
  CHECK(difference(scaled_dot_product_attention(q, k, v, {.mask = all, .enable_gqa = true}), expected) == "");
  CHECK(difference(scaled_dot_product_attention(q.select(0, 1), k.select(0, 1), v.select(0, 1),
                                                {.enable_gqa = true}),
                   expected.select(0, 1)) == "");
}

TEST_CASE("grouped attention refuses heads that do not divide, and is off unless asked for") {
  const auto attend = [](const Shape& q, const Shape& k, const Shape& v, bool gqa = true) {
    return error_of([&] { scaled_dot_product_attention(ones(q), ones(k), ones(v), {.enable_gqa = gqa}); });
  };
  const Shape q = {1, 4, 3, 2}, three = {1, 3, 3, 2}, two = {1, 2, 3, 2}, one = {1, 1, 3, 2};
  CHECK(attend(q, three, three) ==
        "[scaled_dot_product_attention] with enable_gqa k and v must have one number of heads, which divides "
        "q's, got (1, 4, 3, 2), (1, 3, 3, 2) and (1, 3, 3, 2).");
  CHECK_HAS(attend(q, two, one), "one number of heads");
  CHECK_HAS(attend({4, 2}, {4, 2}, {4, 2}), "one number of heads");
  CHECK_HAS(attend({1, 0, 3, 2}, {1, 0, 3, 2}, {1, 0, 3, 2}), "one number of heads");
  CHECK_HAS(attend(q, two, two, /*gqa=*/false), "broadcast");
}

}  // namespace gradus::test_ops_grouped_attention
