#include "gradus/nn/attention.hpp"

#include "autograd/compare.hpp"
#include "gradus/autograd/reference/products.hpp"
#include "gradus/autograd/reference/table.hpp"

namespace gradus::nn::test_attention {

using namespace testing;

/// The definition of attention, in plain loops, between the layers.
Tensor by_definition(const MultiHeadAttention& m, const Tensor& x, int64_t n_head, bool causal) {
  const int64_t T = x.size(1), head_size = x.size(2) / n_head;
  const Tensor later = triu(ones({T, T}), 1);
  const reference::Attention how{1 / std::sqrt(static_cast<double>(head_size)),
                                 reference::array_of<int64_t>(causal ? later : Tensor()),
                                 {}};
  const auto qkv = reference::array_of<double>(m.c_attn(x));
  const Tensor heads = tensor(reference::scaled_dot_product_attention(qkv, n_head, how).data, x.shape());
  return m.c_proj ? (*m.c_proj)(heads).detach() : heads;
}

TEST_CASE("MultiHeadAttention agrees with its definition") {
  const bool causal = GENERATE(true, false);
  const bool projection = GENERATE(true, false);
  const bool bias = GENERATE(true, false);
  const int64_t n_head = GENERATE(1, 2, 6);
  Generator g(11);
  MultiHeadAttention m(6, n_head, g,
                       {.causal = causal, .bias = bias, .projection = projection, .projection_bias = bias});
  CHECK(m.num_parameters() == 18 * 6 + (bias ? 18 : 0) + (projection ? 36 + (bias ? 6 : 0) : 0));
  m.to(DType::float64);
  const Tensor x = randn({2, 5, 6}, g, DType::float64);
  CHECK(difference(m(x).detach(), by_definition(m, x, n_head, causal), 1e-12) == "");
}

TEST_CASE("decoding drops nothing, is not recorded, and takes as many positions as the cache has") {
  Generator g(13);
  const MultiHeadAttention m(8, 2, g, {.dropout = 0.5});
  KVCache cache = m.make_cache(3, 7);
  CHECK_FALSE(m.decode(randn({3, 7, 8}, g), cache).requires_grad());
  CHECK(cache.length == 7);
  CHECK_THROWS_WITH(m.decode(ones({3, 1, 8}), cache),
                    "[attention] a sequence must fit into its cache of 7 positions, got 8.");
  CHECK_ERROR(m.decode(ones({1, 1, 8}), cache), "must be (3, 2, 1, 4), got (1, 2, 1, 4)");
}

TEST_CASE("attention refuses what it cannot do") {
  Generator g(15);
  CHECK_THROWS_WITH(MultiHeadAttention(8, 3, g),
                    "[attention] n_head must divide n_embd, got n_head 3 and n_embd 8.");
  CHECK_THROWS_AS(MultiHeadAttention(8, 0, g), Error);
  const MultiHeadAttention m(8, 2, g, {.causal = false});
  CHECK_THROWS_WITH(m(ones({3, 8})), "[attention] x must be (B, T, C), got (3, 8).");
  KVCache cache = m.make_cache(1, 4);
  CHECK_THROWS_WITH(m.decode(ones({1, 1, 8}), cache),
                    "[attention] only causal attention can be continued from a cache, got causal = false.");
}

}  // namespace gradus::nn::test_attention
