// Llama (Touvron et al., arXiv 2302.13971): rotary positions, RMSNorm, SwiGLU, heads of queries that share
// keys and values; with norms of queries and keys it is Qwen3, with biases of queries, keys and values Qwen2,
// with a sliding window Mistral. Parameters have the names of Hugging Face's files. The decoder is Gemma's
// too, whose entry is in gemma.cpp.
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/files/error.hpp"
#include "gradus/models/block_decoder.hpp"
#include "gradus/models/config_json.hpp"
#include "gradus/models/key_value_state.hpp"
#include "gradus/models/rotary_decoder.hpp"
#include "gradus/nn/layers.hpp"

namespace gradus::models {
namespace {

bool has_outer_norms(const DecoderConfig& config) { return architecture(config.arch).has_outer_norms; }

nn::RMSNormOptions norms_of(const DecoderConfig& config) {
  return {.eps = config.norm_eps, .unit_offset = has_outer_norms(config)};
}

Tensor normed(const std::optional<nn::RMSNorm>& norm, const Tensor& x) { return norm ? (*norm)(x) : x; }

class RotaryBlock : public nn::Module {
 public:
  RotaryBlock(const DecoderConfig& config, const nn::GroupedQueryAttentionOptions& attention, Generator& init)
      : before_attention(config.n_embd, norms_of(config)),
        attn(config.n_embd, config.n_head, config.kv_heads(), init, attention),
        before_mlp(config.n_embd, norms_of(config)),
        mlp(config.n_embd, config.inner(), init,
            {.dropout = config.dropout, .gelu = has_outer_norms(config)}) {
    if (!has_outer_norms(config)) return;
    after_attention.emplace(config.n_embd, norms_of(config));
    after_mlp.emplace(config.n_embd, norms_of(config));
  }

  Tensor operator()(const Tensor& x, Generator* dropout, const Tensor& starts) const {
    return residual_block(
        *this, x,
        [&](const Tensor& r) { return normed(after_attention, attn(before_attention(r), dropout, starts)); },
        [&](const Tensor& r) { return normed(after_mlp, mlp(before_mlp(r), dropout)); });
  }
  Tensor decode(const Tensor& x, nn::KVCache& cache) const {
    return residual_block(
        *this, x,
        [&](const Tensor& r) { return normed(after_attention, attn.decode(before_attention(r), cache)); },
        [&](const Tensor& r) { return normed(after_mlp, mlp.without_dropout(before_mlp(r))); });
  }
  void visit(nn::Visitor& v) override {
    v("input_layernorm", before_attention)("self_attn", attn)("post_attention_layernorm", after_attention);
    v(after_mlp ? "pre_feedforward_layernorm" : "post_attention_layernorm", before_mlp)("mlp", mlp);
    v("post_feedforward_layernorm", after_mlp);
  }

  nn::RMSNorm before_attention;
  nn::GroupedQueryAttention attn;
  nn::RMSNorm before_mlp;
  nn::SwiGLU mlp;
  std::optional<nn::RMSNorm> after_attention, after_mlp;  ///< the outer norms
};

class RotaryDecoder final : public BlockDecoder<RotaryBlock> {
 public:
  RotaryDecoder(const DecoderConfig& config, Generator& init, AttentionOfBlock* attention)
      : BlockDecoder(config, init, nn::RMSNorm(config.n_embd, norms_of(config))),
        embedding_scale(has_outer_norms(config) ? std::sqrt(static_cast<double>(config.n_embd)) : 1.0),
        block_size(config.block_size) {
    add_blocks(config, init, [&](int64_t i) { return RotaryBlock(config, attention(config, i), init); });
  }

  Tensor features(const Tensor& idx, Generator* dropout, const Tensor& starts) const override {
    return through_blocks(embedded(idx), dropout, starts);
  }
  std::unique_ptr<DecodingState> make_state(int64_t batch) const override {
    return make_key_value_state(layers, batch, block_size);
  }
  Tensor next_features(const Tensor& idx, DecodingState& state) const override {
    return decode_blocks(layers, embedded(idx), state);
  }
  std::unique_ptr<Backbone> clone() const override { return std::make_unique<RotaryDecoder>(*this); }

  double embedding_scale;  ///< sqrt(C) in Gemma
  int64_t block_size;      ///< most positions of a sequence

 private:
  Tensor embedded(const Tensor& idx) const {
    return embedding_scale == 1.0 ? embed_tokens(idx) : embed_tokens(idx) * embedding_scale;
  }
};

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

void check_llama(const DecoderConfig& c) {
  check_rotary(c);
  if (c.attention.window_pattern != 0)
    fail("decoder", "window_pattern must be 0 with ", Option{"arch"}, " llama, got ",
         c.attention.window_pattern, ".");
}

/// A type of transformers that computes the same.
std::string_view llama_model_type(const DecoderConfig& config) {
  if (config.qk_norm) return "qwen3";
  if (config.attention.qkv_bias && !config.attention.projection_bias) return "qwen2";
  return config.attention.window > 0 ? "mistral" : "llama";
}

std::string_view llama_title(const DecoderConfig& config) {
  const std::string_view type = llama_model_type(config);
  return type == "qwen3" ? "Qwen3" : type == "qwen2" ? "Qwen2" : type == "mistral" ? "Mistral" : "Llama";
}

std::string write_llama_config(const DecoderConfig& config) {
  const std::string_view type = llama_model_type(config);
  const bool is_qwen = type == "qwen2" || type == "qwen3";
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(rotary_fields(config, type));
  json["hidden_act"] = "silu";
  if (type == "llama") json["mlp_bias"] = false;
  if (is_qwen) json["use_sliding_window"] = config.attention.window > 0;
  if (config.attention.window > 0) {
    json["sliding_window"] = config.attention.window;
    if (is_qwen) json["max_window_layers"] = config.attention.window_from;
  }
  return config_text(json.dump());
}

/// Reads the sliding window: of all layers for Mistral; for Qwen, if it is in use, from max_window_layers on.
void read_window(const files::Field& root, std::string_view type, DecoderConfig& to) {
  if (type == "llama") return;
  const auto field = root.given("sliding_window");
  if (!field) return;
  if (type != "mistral") {
    if (!flag(root, "use_sliding_window", false)) return;
    to.attention.window_from = root.at("max_window_layers").integer();
  }
  to.attention.window = field->integer(1);
  // Newer files list the layers too.
  if (const auto kinds = root.find("layer_types"); kinds && kinds->is_list()) {
    const std::vector<std::string> listed = kinds->texts();
    for (size_t i = 0; i < listed.size(); ++i)
      if ((listed[i] == "sliding_attention") != (static_cast<int64_t>(i) >= to.attention.window_from))
        kinds->refuse("must be full_attention below layer ", to.attention.window_from,
                      " and sliding_attention from it on, got ", listed[i], " at ", i, ".");
  }
  if (to.attention.window_from >= to.n_layer) to.attention.window = to.attention.window_from = 0;
}

DecoderConfig read_llama_config(const files::Field& root, const std::string& file) {
  const std::string_view type = root.at("model_type").text();
  DecoderConfig config{
      .arch = "llama", .bias = false, .qk_norm = type == "qwen3", .tie_word_embeddings = false};
  read_rotary(root, file, type == "qwen3" ? 128 : 0, nullptr, config);
  config.attention.qkv_bias = type == "qwen2" || flag(root, "attention_bias", false);
  config.attention.projection_bias = config.attention.qkv_bias && type != "qwen2";
  read_window(root, type, config);
  validate(config, file);

  expect(root, "hidden_act", {"'silu'", "'swish'"});
  expect(root, "mlp_bias", {"false"});
  expect(root, "partial_rotary_factor", {"1", "1.0", "null"});
  return config;
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

std::unique_ptr<Backbone> make_rotary(const DecoderConfig& config, Generator& init,
                                      AttentionOfBlock* attention) {
  return std::make_unique<RotaryDecoder>(config, init, attention);
}

// The MLP saves gate, up and their product, which is rounded in bfloat16; Gemma's also gelu(gate), and rounds
// none. The norms of q and k and the outer norms save their inputs.
DecoderCost rotary_cost(const DecoderConfig& config, DType products) {
  const auto C = static_cast<double>(config.n_embd), inner = static_cast<double>(config.inner());
  const auto size = static_cast<double>(config.head_size()), q = size * static_cast<double>(config.n_head),
             kv = size * static_cast<double>(config.kv_heads());
  const double outer = has_outer_norms(config) ? 1 : 0;
  const bool rounded = products == DType::bfloat16;
  const double mlp = outer > 0 ? 4 : rounded ? 2.5 : 3;
  DecoderCost cost = attention_cost(config);
  cost.saved += (config.qk_norm || outer > 0 ? q + kv : 0) + 2 * outer * C + mlp * inner;
  // Gradients; in bfloat16 each is also packed in two forms of 2 bytes.
  cost.gradients = (3 + outer) * inner + (rounded ? inner + C : 0);
  cost.decoding += (3 + outer) * inner;
  return cost;
}

void check_rotary(const DecoderConfig& c) {
  if (c.attention.head_dim < 0 || c.head_size() % 2 != 0)
    fail("decoder", Option{"n_head"}, " must divide ", Option{"n_embd"}, " into heads of an even size with ",
         Option{"arch"}, " ", c.arch, ", got ", c.n_head, " and ", c.n_embd, ".");
  if (c.n_kv_head < 0 || c.n_head % c.kv_heads() != 0)
    fail("decoder", Option{"n_kv_head"}, " must divide ", Option{"n_head"}, ", got ", c.n_kv_head, " and ",
         c.n_head, ".");
  if (!(c.rope_theta > 0.0 && std::isfinite(c.rope_theta)))
    fail("decoder", Option{"rope_theta"}, " must be a finite number above 0, got ", c.rope_theta, ".");
  check_rope(c.attention.rope_scaling);
  if (c.attention.window < 0 || c.attention.window_from < 0)
    fail("decoder", "window and window_from must be at least 0, got ", c.attention.window, " and ",
         c.attention.window_from, ".");
  if (c.bias)
    fail("decoder", Option{"bias"}, " must be false with ", Option{"arch"}, " ", c.arch,
         ", whose layers have none, got true.");
}

std::string rotary_fields(const DecoderConfig& config, std::string_view type) {
  return nlohmann::ordered_json{
      {"model_type", type},
      {"architectures", {concat(architecture(config.arch).title(config), "ForCausalLM")}},
      {"vocab_size", config.vocab_size},
      {"max_position_embeddings", config.block_size},
      {"hidden_size", config.n_embd},
      {"intermediate_size", config.inner()},
      {"num_hidden_layers", config.n_layer},
      {"num_attention_heads", config.n_head},
      {"num_key_value_heads", config.kv_heads()},
      {"head_dim", config.head_size()},
      {"rms_norm_eps", config.norm_eps},
      {"rope_theta", config.rope_theta},
      {"rope_scaling", nlohmann::json::parse(rope_scaling_json(config.attention.rope_scaling))},
      {"attention_bias", config.attention.qkv_bias},
      {"attention_dropout", config.dropout},
      {"initializer_range", 0.02},
      {"tie_word_embeddings", config.tie_word_embeddings},
  }
      .dump();
}

void read_rotary(const files::Field& root, const std::string& file, int64_t head_dim, const char* kind,
                 DecoderConfig& to) {
  read_sizes(root, {"max_position_embeddings", "hidden_size", "num_hidden_layers", "num_attention_heads"},
             to);
  to.dropout = number(root, "attention_dropout", 0.0);
  to.norm_eps = number(root, "rms_norm_eps", 1e-6);
  to.tie_word_embeddings = flag(root, "tie_word_embeddings", to.tie_word_embeddings);
  read_rope(root, to, kind);
  const bool has_own_heads = head_dim == 0 && !root.given("num_key_value_heads");
  const int64_t n_kv_head = has_own_heads ? to.n_head : root.at("num_key_value_heads").integer(),
                n_inner = root.at("intermediate_size").integer(1);
  if (n_kv_head < 1) root.at("num_key_value_heads").refuse("must be at least 1, got ", n_kv_head, ".");
  const auto own_dim = root.given("head_dim");
  to.attention.head_dim = own_dim ? own_dim->integer(1) : head_dim;
  validate(to, file);
  // Defaults stay 0, so that loading a saved config restores it.
  if (to.attention.head_dim * to.n_head == to.n_embd) to.attention.head_dim = 0;
  if (n_kv_head != to.n_head) to.n_kv_head = n_kv_head;
  if (n_inner != to.inner()) to.n_inner = n_inner;
}

const Architecture& llama() {
  static const Architecture row{
      .name = "llama",
      .parts = "rotary positions, RMSNorm, SwiGLU, no biases",
      .positions = Positions::rotary,
      .presets = {{"mini", "minutes (default)", llama_shape(128, 4, 4, 128), 0},
                  {"midi", "half an hour", llama_shape(256, 6, 4, 256), 3e6},
                  {"maxi", "hours", llama_shape(256, 6, 6, 384, 0.1), 25e6}},
      .make = [](const DecoderConfig& config,
                 Generator& init) { return make_rotary(config, init, llama_attention); },
      .inner = swiglu_inner,
      .check = check_llama,
      .cost = rotary_cost,
      .describe = describe_with_inner,
      .model_types = {"llama", "qwen3", "qwen2", "mistral"},
      .model_type = llama_model_type,
      .write_config = write_llama_config,
      .read_config = read_llama_config,
      .embedding = "model.embed_tokens.weight",
      .names = {{".h.", ".model.layers."},
                {".wte.", ".model.embed_tokens."},
                {".ln_f.", ".model.norm."},
                {".ln_1.", ".input_layernorm."},
                {".ln_2.", ".post_attention_layernorm."},
                {".attn.c_proj.", ".attn.o_proj."},
                {".attn.", ".self_attn."}},
      .exports = {"gguf", "web"},
      .title = llama_title};
  return row;
}

}  // namespace gradus::models
