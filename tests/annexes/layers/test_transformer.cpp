// CrossAttention and the transformer layers: PyTorch's numbers, layouts, masks, and errors.
#include "gradus/annexes/layers/transformer.hpp"

#include "annexes/layers/layers_golden.hpp"
#include "gradus/autograd/ops/ops.hpp"

namespace gradus::nn::test_transformer {

using namespace testing;

// The last key of the second sequence.
Tensor padding() { return tensor(std::vector<bool>{false, false, false, false, false, true}, {2, 3}); }
Tensor causal(int64_t n, int64_t m) { return triu(ones({n, m}), 1).to(DType::boolean); }
Tensor flipped_and_inverted() {
  return tensor(std::vector<bool>{false, false, true, false, true, true}, {2, 3});
}
// -1 to 1 in steps of 0.4.
Tensor added() { return testing::f64({-1.0, -0.6, -0.2, 0.2, 0.6, 1.0}, {2, 3}); }

void check_attention(const std::string& name, const CrossAttentionOptions& options,
                     const CrossAttentionCall& call) {
  Generator g = golden_generator();
  check_golden<CrossAttention>(
      name, CrossAttention(4, 2, g, options), [&](const CrossAttention& m, const Tensors& in) -> Tensors {
        Generator dropout = golden_generator();
        const Tensor &k = in.size() > 1 ? in[1] : in[0], &v = in.size() > 2 ? in[2] : in[0];
        const auto [output, weights] = m(in[0], k, v, call, &dropout);
        return call.need_weights ? Tensors{output, weights} : Tensors{output};
      });
}

void check_encoder(const std::string& name, const TransformerLayerOptions& options,
                   const EncoderMasks& masks) {
  Generator g = golden_generator();
  check_golden<TransformerEncoderLayer>(name, TransformerEncoderLayer(4, 2, g, options),
                                        [&](const TransformerEncoderLayer& m, const Tensors& in) -> Tensors {
                                          Generator dropout = golden_generator();
                                          return {m(in[0], masks, &dropout)};
                                        });
}

void check_decoder(const std::string& name, const TransformerLayerOptions& options,
                   const DecoderMasks& masks) {
  Generator g = golden_generator();
  check_golden<TransformerDecoderLayer>(name, TransformerDecoderLayer(4, 2, g, options),
                                        [&](const TransformerDecoderLayer& m, const Tensors& in) -> Tensors {
                                          Generator dropout = golden_generator();
                                          return {m(in[0], in[1], masks, &dropout)};
                                        });
}

TEST_CASE("CrossAttention computes what PyTorch's MultiheadAttention computes") {
  check_attention("attention", {}, {});
  check_attention("attention_fused", {.batch_first = true}, {.need_weights = false});
  check_attention("attention_causal", {}, {.need_weights = false, .is_causal = true});
  check_attention("attention_causal", {}, {.need_weights = false, .attn_mask = causal(3, 3)});
  check_attention("attention_kdim", {.bias = false, .kdim = 5, .vdim = 3, .batch_first = true},
                  {.average_attn_weights = false});
  check_attention("attention_masks", {}, {.key_padding_mask = padding(), .attn_mask = added()});
  const Tensor c = causal(2, 3);
  check_attention("attention_masks_fused", {},
                  {.key_padding_mask = padding(),
                   .need_weights = false,
                   .attn_mask = stack({c, flipped_and_inverted(), c, c}, 0)});
  check_attention("attention_unbatched", {}, {.key_padding_mask = padding().select(0, 1)});
  check_attention("attention_dropout", {.dropout = 0.4}, {});
}

TEST_CASE("the transformer layers compute what PyTorch's compute") {
  check_encoder("encoder", {.dim_feedforward = 3, .dropout = 0.0},
                {.src_mask = causal(3, 3), .src_key_padding_mask = padding()});
  check_encoder("encoder", {.dim_feedforward = 3, .dropout = 0.0},
                {.src_key_padding_mask = padding(), .is_causal = true});
  check_encoder("encoder_norm_first",
                {.dim_feedforward = 3,
                 .dropout = 0.3,
                 .activation = FeedForward::gelu,
                 .layer_norm_eps = 1e-3,
                 .batch_first = true,
                 .norm_first = true},
                {});
  check_decoder("decoder", {.dim_feedforward = 3, .dropout = 0.2},
                {.tgt_mask = causal(2, 2),
                 .memory_mask = added(),
                 .tgt_key_padding_mask = padding().slice(1, 1, 3),
                 .memory_key_padding_mask = padding()});
  check_decoder("decoder_norm_first",
                {.dim_feedforward = 3, .dropout = 0.0, .activation = FeedForward::gelu, .norm_first = true},
                {});
}

TEST_CASE("is_causal aligns queries and keys at the first, whatever their numbers") {
  Generator g(1);
  const CrossAttention m(4, 2, g);
  const Tensor q = randn({2, 3, 4}, g), k = randn({4, 3, 4}, g);
  for (const bool need : {true, false})
    CHECK(difference(m(q, k, k, {.need_weights = need, .is_causal = true}).output,
                     m(q, k, k, {.need_weights = need, .attn_mask = causal(2, 4)}).output, 0) == "");
}

TEST_CASE("a float mask is added, a bool mask hides") {
  Generator g(1);
  const CrossAttention m(4, 2, g);
  const Tensor q = randn({4, 2, 4}, g), k = randn({3, 2, 4}, g);
  const Tensor added = masked_fill(zeros({2, 3}), padding(), -kInf);
  for (const bool need : {true, false})
    CHECK(difference(m(q, k, k, {.key_padding_mask = added, .need_weights = need}).output,
                     m(q, k, k, {.key_padding_mask = padding(), .need_weights = need}).output, 0) == "");
}

TEST_CASE("a query that may attend to nothing gets weights of 0 and the output's bias") {
  Generator g(1);
  CrossAttention m(4, 2, g);
  m.out_proj.bias.fill_(3.0);
  const Tensor x = randn({2, 4}, g), hide = tensor(std::vector<bool>{true, true}, {2});
  const AttentionOutput out = m(x, x, x, {.key_padding_mask = hide});
  CHECK(difference(out.weights, zeros({2, 2}), 0) == "");
  CHECK(difference(out.output, full({2, 4}, 3.0), 0) == "");
  CHECK(difference(m(x, x, x, {.key_padding_mask = hide, .need_weights = false}).output, out.output, 0) ==
        "");
}

TEST_CASE("transformer layers: errors") {
  Generator g(1);
  CHECK_THROWS_WITH(CrossAttention(4, 3, g),
                    "[cross_attention] num_heads must divide embed_dim, got num_heads 3 and embed_dim 4.");
  CHECK_THROWS_WITH(CrossAttention(4, 2, g, {.kdim = 0}),
                    "[cross_attention] kdim and vdim must be >= 1, got 0 and 4.");
  CHECK_THROWS_WITH(CrossAttention(4, 2, g, {.dropout = -1}), "[dropout] p must be in [0, 1], got -1.");
  const CrossAttention m(4, 2, g);
  const Tensor q = zeros({2, 3, 4}), k = zeros({5, 3, 4});
  const std::string three = "[cross_attention] query, key and value must all have three dimensions";
  CHECK(error_of([&] { m(q, k, zeros({5, 4})); }).starts_with(three));
  CHECK(error_of([&] { m(zeros({4}), zeros({4}), zeros({4})); }).starts_with(three));
  CHECK_THROWS_WITH(
      m(q, k, zeros({4, 3, 4})),
      "[cross_attention] query, key and value must have 4, 4 and 4 features, keys and values one length, and "
      "all one batch size, got (2, 3, 4), (5, 3, 4) and (4, 3, 4).");
  CHECK(error_of([&] { m(zeros({2, 2, 4}), k, k); }).find("all one batch size") != std::string::npos);
  CHECK(error_of([&] { m(zeros({2, 3, 6}), k, k); }).find("4, 4 and 4 features") != std::string::npos);
  CHECK_THROWS_WITH(m(q, k, k, {.attn_mask = zeros({5, 2})}),
                    "[cross_attention] attn_mask must be of shape (2, 5) or (6, 2, 5), got (5, 2).");
  CHECK_THROWS_WITH(m(q, k, k, {.key_padding_mask = zeros({5, 3})}),
                    "[cross_attention] key_padding_mask must be of shape (3, 5), got (5, 3).");
  CHECK_THROWS_WITH(m(q, k, k, {.attn_mask = zeros({2, 5}, DType::int64)}),
                    "[cross_attention] attn_mask must be bool or float, got int64.");
}

}  // namespace gradus::nn::test_transformer
