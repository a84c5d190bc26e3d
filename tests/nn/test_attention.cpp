#include "gradus/nn/attention.hpp"

#include "autograd/compare.hpp"

namespace gradus::nn::test_attention {

using namespace testing;

/// Attention by its definition, one query of one head at a time, in float64.
Tensor naive_attention(const MultiHeadAttention& m, const Tensor& x, int64_t nh, bool causal) {
  const Tensor qkv = m.c_attn(x).detach();
  const int64_t B = x.size(0), T = x.size(1), C = x.size(2), hs = C / nh;
  std::vector<double> out(static_cast<size_t>(B * T * C));
  for (int64_t b = 0; b < B; ++b)
    for (int64_t h = 0; h < nh; ++h)
      for (int64_t t = 0; t < T; ++t) {
        const int64_t S = causal ? t + 1 : T;
        std::vector<double> weight(static_cast<size_t>(S));
        double total = 0;
        for (int64_t s = 0; s < S; ++s) {
          double score = 0;
          for (int64_t i = 0; i < hs; ++i)
            score += qkv.at({b, t, h * hs + i}) * qkv.at({b, s, C + h * hs + i});
          total += weight[s] = std::exp(score / std::sqrt(static_cast<double>(hs)));
        }
        for (int64_t s = 0; s < S; ++s)
          for (int64_t i = 0; i < hs; ++i)
            out[(b * T + t) * C + h * hs + i] += weight[s] / total * qkv.at({b, s, 2 * C + h * hs + i});
      }
  const Tensor heads = tensor(out, {B, T, C});
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
  CHECK(difference(m(x).detach(), naive_attention(m, x, n_head, causal), 1e-12) == "");
}

TEST_CASE("steps from a cache give what one call gives") {
  Generator g(13);
  MultiHeadAttention m(8, 2, g, {.dropout = 0.5});
  m.to(DType::float64);
  const Tensor x = randn({3, 7, 8}, g, DType::float64);
  KVCache cache = m.make_cache(3, 7);
  const Tensor parts = cat({m.decode(x.slice(1, 0, 3), cache), m.decode(x.slice(1, 3, 4), cache),
                            m.decode(x.slice(1, 4, 7), cache)},
                           1);
  CHECK(cache.length == 7);
  CHECK_FALSE(parts.requires_grad());
  m.eval();
  CHECK(difference(parts, m(x).detach(), 1e-12) == "");
  CHECK_THROWS_WITH(m.decode(x.slice(1, 0, 1), cache),
                    "[attention] a sequence must fit into its cache of 7 positions, got 8.");
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
