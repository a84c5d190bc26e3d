// Llama (Touvron et al., arXiv 2302.13971): rotary positions, RMSNorm, SwiGLU, heads of queries that share
// keys and values; with norms of queries and keys it is Qwen3, with biases of queries, keys and values Qwen2,
// with a sliding window Mistral. Parameters have the names of Hugging Face's files.
#include "gradus/files/error.hpp"
#include "gradus/models/rotary_decoder.hpp"
#include "gradus/nn/attention.hpp"
#include "gradus/nn/layers.hpp"

namespace gradus::models {
namespace {

nn::GroupedQueryAttentionOptions llama_attention(const DecoderConfig& config, int64_t block) {
  return {.rope_frequencies = scaled_frequencies(config),
          .rope_scale = config.attention.rope_scaling.attention_factor,
          .head_size = config.attention.head_dim,
          .window = block < config.attention.window_from ? 0 : config.attention.window,
          .bias = config.attention.qkv_bias,
          .projection_bias = config.attention.projection_bias,
          .qk_norm = config.qk_norm,
          .norm_eps = config.norm_eps,
          .dropout = config.dropout};
}

class LlamaBlock : public nn::Module {
 public:
  LlamaBlock(const DecoderConfig& config, int64_t number, Generator& init)
      : input_layernorm(config.n_embd, {.eps = config.norm_eps}),
        attn(config.n_embd, config.n_head, config.kv_heads(), init, llama_attention(config, number)),
        post_attention_layernorm(config.n_embd, {.eps = config.norm_eps}),
        mlp(config.n_embd, config.inner(), init, {.dropout = config.dropout}) {}

  Tensor operator()(const Tensor& x, Generator* dropout, const Tensor& starts) const {
    return residual_block(
        *this, x, [&](const Tensor& r) { return attn(input_layernorm(r), dropout, starts); },
        [&](const Tensor& r) { return mlp(post_attention_layernorm(r), dropout); });
  }
  Tensor decode(const Tensor& x, nn::KVCache& cache) const {
    return residual_block(
        *this, x, [&](const Tensor& r) { return attn.decode(input_layernorm(r), cache); },
        [&](const Tensor& r) { return mlp.without_dropout(post_attention_layernorm(r)); });
  }
  void visit(nn::Visitor& v) override {
    v("input_layernorm", input_layernorm)("self_attn", attn);
    v("post_attention_layernorm", post_attention_layernorm)("mlp", mlp);
  }

  nn::RMSNorm input_layernorm;
  nn::GroupedQueryAttention attn;
  nn::RMSNorm post_attention_layernorm;
  nn::SwiGLU mlp;
};

void check_llama(const DecoderConfig& c) {
  check_rotary(c);
  if (c.attention.window_pattern != 0)
    fail("decoder", "window_pattern must be 0 with ", Option{"arch"}, " llama, got ",
         c.attention.window_pattern, ".");
}

// The MLP saves gate, up and their product, which is rounded in bfloat16. Norms of q and k save their inputs.
DecoderCost llama_cost(const DecoderConfig& config, DType products) {
  const auto C = static_cast<double>(config.n_embd), inner = static_cast<double>(config.inner());
  const bool rounded = products == DType::bfloat16;
  DecoderCost cost = attention_cost(config);
  if (config.qk_norm) cost.saved += query_key_size(config);
  cost.saved += (rounded ? 2.5 : 3) * inner;
  // Gradients; in bfloat16 each is also packed in two forms of 2 bytes.
  cost.gradients = 3 * inner + (rounded ? inner + C : 0);
  cost.decoding += 3 * inner;
  return cost;
}

DecoderConfig llama_shape(int64_t block_size, int64_t n_layer, int64_t n_head, int64_t n_embd,
                          double dropout = 0.0) {
  return {.arch = "llama",
          .block_size = block_size,
          .n_layer = n_layer,
          .n_head = n_head,
          .n_embd = n_embd,
          .dropout = dropout,
          .bias = false,
          .qk_norm = true};
}

}  // namespace

const Architecture& llama() {
  static const Architecture row{
      .name = "llama",
      .parts = "rotary positions, RMSNorm, SwiGLU, no biases",
      .positions = Positions::rotary,
      .presets = {{"mini", "minutes (default)", llama_shape(128, 4, 4, 128), 0},
                  {"midi", "half an hour", llama_shape(256, 6, 4, 256), 3e6},
                  {"maxi", "hours", llama_shape(256, 6, 6, 384, 0.1), 25e6}},
      .make = [](const DecoderConfig& config, Generator& init) -> std::unique_ptr<Backbone> {
        return std::make_unique<RotaryDecoder<LlamaBlock>>(config, init,
                                                           nn::RMSNormOptions{.eps = config.norm_eps}, 1.0);
      },
      .inner = swiglu_inner,
      .check = check_llama,
      .cost = llama_cost,
      .describe = describe_with_inner,
      .names = {{".h.", ".model.layers."},
                {".wte.", ".model.embed_tokens."},
                {".ln_f.", ".model.norm."},
                {".ln_1.", ".input_layernorm."},
                {".ln_2.", ".post_attention_layernorm."},
                {".attn.c_proj.", ".attn.o_proj."},
                {".attn.", ".self_attn."}}};
  return row;
}

}  // namespace gradus::models
