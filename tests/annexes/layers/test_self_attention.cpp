// Every way of the tutorials to write self-attention: by its definition, the others, gradients, causality.
#include "gradus/annexes/layers/self_attention.hpp"

#include "autograd/compare.hpp"
#include "gradus/nn/attention.hpp"
#include "gradus/nn/check_module.hpp"
#include "gradus/nn/watch.hpp"
#include "nn/gradcheck_module.hpp"

namespace gradus::nn::test_self_attention {

using namespace testing;

struct Variant {
  const char* name;
  SelfAttentionOptions options;
};

// d_in 3, d_out 4; the layers of equal seed have equal weights.
const std::vector<Variant>& causal_variants() {
  static const std::vector<Variant> all = {
      {"-inf before the softmax", {}},
      {"-1e9 before the softmax", {.fill = -1e9}},
      {"0 after the softmax, renormalised", {.mask_on = MaskOn::weights}},
      {"safe", {.safe = true}},
      {"safe, 0 after the softmax", {.mask_on = MaskOn::weights, .safe = true}},
      {"not scaled", {.scaled = false}},
      {"two heads, projected, biased", {.num_heads = 2, .projection = true, .bias = true}},
      {"four heads", {.num_heads = 4}},
  };
  return all;
}

SelfAttention make(const SelfAttentionOptions& options, uint64_t seed = 5) {
  Generator g(seed);
  return {3, 4, g, options};
}

/// By the definition, one query of one head at a time, in float64.
Tensor naive(const SelfAttention& m, const Tensor& x) {
  const SelfAttentionOptions& o = m.options();
  const Tensor q = m.W_query(x).detach(), k = m.W_key(x).detach(), v = m.W_value(x).detach();
  const int64_t T = x.size(0), C = q.size(1), hs = C / o.num_heads;
  std::vector<double> context(static_cast<size_t>(T * C));
  for (int64_t h = 0; h < o.num_heads; ++h)
    for (int64_t t = 0; t < T; ++t) {
      const int64_t last = o.mask_on == MaskOn::nothing ? T - 1 : t;
      std::vector<double> weight;
      double total = 0;
      for (int64_t s = 0; s <= last; ++s) {
        double score = 0;
        for (int64_t i = 0; i < hs; ++i) score += q.at({t, h * hs + i}) * k.at({s, h * hs + i});
        weight.push_back(std::exp(o.scaled ? score / std::sqrt(static_cast<double>(hs)) : score));
        total += weight.back();
      }
      for (int64_t s = 0; s <= last; ++s)
        for (int64_t i = 0; i < hs; ++i)
          context[t * C + h * hs + i] += weight[s] / total * v.at({s, h * hs + i});
    }
  const Tensor y = tensor(context, {T, C});
  return m.out ? (*m.out)(y).detach() : y;
}

Tensor tokens(const Shape& shape, uint64_t seed = 3) {
  Generator g(seed);
  return randn(shape, g, DType::float64);
}

TEST_CASE("each variant agrees with the definition, alone and in a batch") {
  std::vector<Variant> all = causal_variants();
  all.push_back({"no mask", {.mask_on = MaskOn::nothing}});
  for (const auto& [name, options] : all) {
    INFO(name);
    SelfAttention m = make(options);
    m.to(DType::float64);
    const Tensor x = tokens({2, 5, 3});
    const Tensor y = m(x).detach();
    CHECK(difference(m(x.select(0, 0)).detach(), naive(m, x.select(0, 0))) == "");
    CHECK(difference(y.select(0, 0), naive(m, x.select(0, 0))) == "");
    CHECK(difference(y.select(0, 1), naive(m, x.select(0, 1))) == "");
  }
}

TEST_CASE("gradients of each variant are right at orders 1 and 2") {
  std::vector<Variant> all = causal_variants();
  all.push_back({"no mask", {.mask_on = MaskOn::nothing}});
  for (const auto& [name, options] : all) {
    INFO(name);
    SelfAttention m = make(options);
    check_gradients(m, {tokens({3, 3})});
    // The third token hides from all, and the first sees none but itself.
    const Tensor mask = tensor(std::vector<double>{0, 1, 1, 0, 0, 1, 0, 0, 1}, {3, 3}).to(DType::boolean);
    if (options.mask_on == MaskOn::nothing) continue;
    check_gradients(m, {tokens({3, 3})},
                    [&](const SelfAttention& f, const auto& in) { return f(in[0], mask); });
  }
  Generator g(1);
  check_gradients(StackedHeads(3, 2, 2, g), {tokens({3, 3})});
  check_gradients(make({.dropout = 0.5}), {tokens({3, 3})}, [](const SelfAttention& f, const auto& in) {
    Generator same(4);
    return f(in[0], &same);
  });
}

TEST_CASE("a safe layer has finite gradients where a token sees none") {
  const Tensor all = ones({4, 4}).to(DType::boolean);
  for (const MaskOn mask_on : {MaskOn::scores, MaskOn::weights}) {
    SelfAttention m = make({.mask_on = mask_on, .safe = true});
    check_gradients(m, {tokens({4, 3})},
                    [&](const SelfAttention& f, const auto& in) { return f(in[0], all); });
  }
}

TEST_CASE("what a token that sees none gets") {
  const Tensor x = tokens({2, 3}).to(DType::float32), all = ones({2, 2}).to(DType::boolean);
  const auto first = [&](const SelfAttentionOptions& options) {
    return make(options)(x, all).detach().at({0, 0});
  };
  CHECK(std::isnan(first({})));                            // softmax of -inf alone
  CHECK(std::isnan(first({.mask_on = MaskOn::weights})));  // 0 / 0
  CHECK(first({.safe = true}) == 0.0);
  CHECK(first({.mask_on = MaskOn::weights, .safe = true}) == 0.0);
  CHECK(first({.fill = -1e9, .safe = true}) == 0.0);
  const SelfAttention m = make({.fill = -1e9});  // equal weights for all
  CHECK(difference(m(x, all).detach().slice(0, 0, 1), mean(m.W_value(x), {0}, true).detach(), 1e-6) == "");
}

TEST_CASE("no variant lets a token see a later one") {
  const Tensor x = tokens({5, 3}).to(DType::float32);
  for (const auto& [name, options] : causal_variants()) {
    INFO(name);
    // Bit for bit, but where the softmax has seen the future before the mask takes it out again.
    CHECK(check_causal(make(options), x, {.tolerance = options.mask_on == MaskOn::weights ? 1e-6 : 0.0}));
  }
  CHECK_FALSE(check_causal(make({.mask_on = MaskOn::nothing}), x));
}

TEST_CASE("a mask after the softmax lets a large later score through") {
  const Tensor scores = tensor(std::vector<double>{1, 200, 1, 1}, {2, 2}).to(DType::float32);
  const auto weight = [&](const SelfAttentionOptions& o) {
    return attention_weights(scores, causal_mask(2), o).at({0, 0});
  };
  CHECK(weight({}) == 1.0);
  CHECK(std::isnan(weight({.mask_on = MaskOn::weights})));  // e^-199 is 0, and 0 / 0
}

TEST_CASE("a split layer equals its heads stacked, and the fused MultiHeadAttention") {
  SelfAttention split = make({.num_heads = 2});
  Generator g(1);
  StackedHeads stacked(3, 2, 2, g);
  for (int64_t h = 0; h < 2; ++h) {
    const auto rows = [&](const Linear& from) { return from.weight.detach().slice(0, 2 * h, 2 * h + 2); };
    SelfAttention& head = stacked.heads[static_cast<size_t>(h)];
    head.W_query.weight.copy_(rows(split.W_query));
    head.W_key.weight.copy_(rows(split.W_key));
    head.W_value.weight.copy_(rows(split.W_value));
  }
  const Tensor x = tokens({2, 6, 3}).to(DType::float32);
  CHECK(difference(stacked(x).detach(), split(x).detach(), 1e-6) == "");
  CHECK(stacked.num_parameters() == split.num_parameters());

  SelfAttention square(4, 4, g, {.num_heads = 2, .projection = true, .bias = true});
  MultiHeadAttention fused(4, 2, g);
  fused.c_attn.weight.copy_(
      cat({square.W_query.weight, square.W_key.weight, square.W_value.weight}, 0).detach());
  fused.c_attn.bias.copy_(cat({square.W_query.bias, square.W_key.bias, square.W_value.bias}, 0).detach());
  fused.c_proj->weight.copy_(square.out->weight.detach());
  fused.c_proj->bias.copy_(square.out->bias.detach());
  const Tensor wide = tokens({2, 6, 4}).to(DType::float32);
  CHECK(difference(fused(wide).detach(), square(wide).detach(), 1e-6) == "");
}

TEST_CASE("dims may be named, and the mask is cut to the tokens at hand") {
  const Tensor x = tokens({4, 3}).to(DType::float32);
  const Tensor y = make({.context_length = 6})(x).detach();
  CHECK(difference(make({.row_dim = 0, .col_dim = 1})(x).detach(), y, 0) == "");
  CHECK(difference(make({})(x, causal_mask(6).slice(0, 0, 4).slice(1, 0, 4)).detach(), y, 0) == "");
}

TEST_CASE("one query's context vector is a row of the matrix") {
  const SelfAttention m = make({.mask_on = MaskOn::nothing});
  const Tensor x = tokens({5, 3}).to(DType::float32);
  const Tensor one =
      context_vector(x.select(0, 1), x, m.W_query.weight.mT(), m.W_key.weight.mT(), m.W_value.weight.mT());
  CHECK(difference(one.detach(), m(x).detach().select(0, 1), 1e-6) == "");
}

TEST_CASE("bad arguments are named") {
  Generator g(1);
  CHECK_THROWS_WITH(SelfAttention(0, 2, g), "[self_attention] d_in and d_out must be >= 1, got 0 and 2.");
  CHECK_THROWS_WITH(SelfAttention(3, 4, g, {.num_heads = 3}),
                    "[self_attention] num_heads must divide d_out, got num_heads 3 and d_out 4.");
  CHECK_THROWS_WITH(make({.num_heads = 2, .row_dim = 0, .col_dim = 1}),
                    "[self_attention] several heads need row_dim -2 and col_dim -1, got 0 and 1.");
  CHECK_THROWS_WITH(make({.context_length = 4})(ones({5, 3})),
                    "[self_attention] x must have at most context_length = 4 tokens, got 5.");
  CHECK_THROWS_WITH(make({})(ones({5, 2})), "[self_attention] x must be (..., T, 3), got (5, 2).");
  CHECK_THROWS_WITH(make({})(ones({3})), "[self_attention] x must be (..., T, 3), got (3,).");
  CHECK_THROWS_WITH(
      make({.mask_on = MaskOn::nothing})(ones({2, 3}), causal_mask(2)),
      "[self_attention] mask_on must be scores or weights with a mask, got nothing and a mask of shape (2, "
      "2).");
  CHECK_THROWS_WITH(StackedHeads(3, 4, 2, g, {.num_heads = 2}),
                    "[stacked_heads] each of the heads must have num_heads 1, got 2.");
}

TEST_CASE("tutorial attention has points too") {
  Generator g(15);
  SelfAttention m(6, 4, g, {.num_heads = 2});
  const Activations seen = watch(m, {"pattern", "context"});
  m(randn({3, 6}, g));
  CHECK(seen["pattern"].shape() == Shape{2, 3, 3});
  CHECK(seen["context"].shape() == Shape{3, 4});
}

}  // namespace gradus::nn::test_self_attention
