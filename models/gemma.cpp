// Gemma 3 (Gemma Team, arXiv 2503.19786), models of text: blocks with norms before and after attention and
// MLP, GeGLU, and windows in all blocks but each window_pattern-th. Parameters have Hugging Face's names.
#include <cmath>

#include "gradus/files/error.hpp"
#include "gradus/models/gemma.hpp"
#include "gradus/models/rotary_decoder.hpp"
#include "gradus/nn/attention.hpp"
#include "gradus/nn/layers.hpp"

namespace gradus::models {

bool has_window(const DecoderConfig& config, int64_t block) {
  return config.attention.window > 0 && (block + 1) % config.attention.window_pattern != 0;
}

namespace {

const AttentionVariant kGemmaAttention{.window = 512, .window_pattern = 6};

nn::GroupedQueryAttentionOptions gemma_attention(const DecoderConfig& config, int64_t number) {
  const bool windowed = has_window(config, number);
  return {.rope_theta = kLocalTheta,
          .rope_frequencies = windowed ? Tensor() : scaled_frequencies(config),
          .rope_scale = windowed ? 1.0 : config.attention.rope_scaling.attention_factor,
          .head_size = config.attention.head_dim,
          .window = windowed ? config.attention.window : 0,
          .qk_norm = true,
          .norm_eps = config.norm_eps,
          .unit_offset = true,
          .dropout = config.dropout};
}

/// Norms that multiply by 1 + weight.
nn::RMSNormOptions norms_of(const DecoderConfig& config) {
  return {.eps = config.norm_eps, .unit_offset = true};
}

class GemmaBlock : public nn::Module {
 public:
  GemmaBlock(const DecoderConfig& config, int64_t number, Generator& init)
      : input_layernorm(config.n_embd, norms_of(config)),
        attn(config.n_embd, config.n_head, config.kv_heads(), init, gemma_attention(config, number)),
        post_attention_layernorm(config.n_embd, norms_of(config)),
        pre_feedforward_layernorm(config.n_embd, norms_of(config)),
        mlp(config.n_embd, config.inner(), init, {.dropout = config.dropout, .gelu = true}),
        post_feedforward_layernorm(config.n_embd, norms_of(config)) {}

  Tensor operator()(const Tensor& x, Generator* dropout, const Tensor& starts) const {
    return residual_block(
        *this, x,
        [&](const Tensor& r) { return post_attention_layernorm(attn(input_layernorm(r), dropout, starts)); },
        [&](const Tensor& r) {
          return post_feedforward_layernorm(mlp(pre_feedforward_layernorm(r), dropout));
        });
  }
  Tensor decode(const Tensor& x, nn::KVCache& cache) const {
    return residual_block(
        *this, x,
        [&](const Tensor& r) { return post_attention_layernorm(attn.decode(input_layernorm(r), cache)); },
        [&](const Tensor& r) {
          return post_feedforward_layernorm(mlp.without_dropout(pre_feedforward_layernorm(r)));
        });
  }
  void visit(nn::Visitor& v) override {
    v("input_layernorm", input_layernorm)("self_attn", attn);
    v("post_attention_layernorm", post_attention_layernorm);
    v("pre_feedforward_layernorm", pre_feedforward_layernorm)("mlp", mlp);
    v("post_feedforward_layernorm", post_feedforward_layernorm);
  }

  nn::RMSNorm input_layernorm;
  nn::GroupedQueryAttention attn;
  nn::RMSNorm post_attention_layernorm, pre_feedforward_layernorm;
  nn::SwiGLU mlp;
  nn::RMSNorm post_feedforward_layernorm;
};

// As Llama's; the MLP saves gelu(gate) too, and rounds none. All norms save their inputs.
DecoderCost gemma_cost(const DecoderConfig& config, DType products) {
  const auto C = static_cast<double>(config.n_embd), inner = static_cast<double>(config.inner());
  DecoderCost cost = attention_cost(config);
  cost.saved += query_key_size(config) + 2 * C + 4 * inner;
  cost.gradients = 4 * inner + (products == DType::bfloat16 ? inner + C : 0);
  cost.decoding += 4 * inner;
  return cost;
}

void check_gemma(const DecoderConfig& c) {
  check_rotary(c);
  const AttentionVariant& a = c.attention;
  if (a.window_from != 0 || a.window_pattern < 0 || (a.window > 0) != (a.window_pattern > 1))
    fail("decoder", "window and window_pattern must be 0, or at least 1 and 2, got ", a.window, " and ",
         a.window_pattern, ".");
  if (c.qk_norm || a.qkv_bias || a.projection_bias)
    fail("decoder", Option{"qk_norm"}, " and biases must be false with ", Option{"arch"},
         " gemma, which always has these norms and never biases, got true.");
}

}  // namespace

const Architecture& gemma() {
  static const Architecture row{
      .name = "gemma",
      .parts = "Gemma 3: rotary positions, windows, more norms, GeGLU",
      .positions = Positions::rotary,
      .presets = {{"gemma",
                   "minutes, the shape of Gemma 3",
                   {.arch = "gemma",
                    .block_size = 128,
                    .n_layer = 6,
                    .bias = false,
                    .n_kv_head = 1,
                    .attention = kGemmaAttention},
                   0}},
      .has_outer_norms = true,
      .make = [](const DecoderConfig& config, Generator& init) -> std::unique_ptr<Backbone> {
        return std::make_unique<RotaryDecoder<GemmaBlock>>(config, init, norms_of(config),
                                                           std::sqrt(static_cast<double>(config.n_embd)));
      },
      .inner = swiglu_inner,
      .check = check_gemma,
      .cost = gemma_cost,
      .describe = describe_with_inner,
      .names = {{".h.", ".model.layers."},
                {".wte.", ".model.embed_tokens."},
                {".ln_f.", ".model.norm."},
                {".ln_1.", ".input_layernorm."},
                {".ln_2.", ".pre_feedforward_layernorm."},
                {".attn.c_proj.", ".attn.o_proj."},
                {".attn.", ".self_attn."}},
      .attention = kGemmaAttention};
  return row;
}

}  // namespace gradus::models
