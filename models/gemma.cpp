// Gemma 3 (Gemma Team, arXiv 2503.19786), models of text: blocks with norms before and after attention and
// MLP, GeGLU, and windows in all blocks but each window_pattern-th. Parameters have the names of Hugging
// Face's files.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "gradus/files/error.hpp"
#include "gradus/models/rotary_decoder.hpp"
#include "gradus/nn/attention.hpp"
#include "gradus/nn/layers.hpp"

namespace gradus::models {
namespace {

const AttentionVariant kGemmaAttention{.window = 512, .window_pattern = 6};
constexpr double kLocalTheta = 10000.0;  // rope_theta of blocks with a window, which no scaling changes

bool has_window(const DecoderConfig& config, int64_t block) {
  return config.attention.window > 0 && (block + 1) % config.attention.window_pattern != 0;
}

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

std::vector<std::string> layer_types(const DecoderConfig& config) {
  std::vector<std::string> types;
  for (int64_t i = 0; i < config.n_layer; ++i)
    types.emplace_back(has_window(config, i) ? "sliding_attention" : "full_attention");
  return types;
}

std::string write_gemma_config(const DecoderConfig& config) {
  const AttentionVariant& attention = config.attention;
  auto json = nlohmann::ordered_json::parse(rotary_fields(config, "gemma3_text"));
  json["query_pre_attn_scalar"] = config.head_size();
  json["hidden_activation"] = "gelu_pytorch_tanh";
  json["rope_local_base_freq"] = kLocalTheta;
  json["sliding_window"] = attention.window > 0 ? attention.window : config.block_size;
  json["sliding_window_pattern"] = std::max<int64_t>(1, attention.window_pattern);
  json["layer_types"] = layer_types(config);
  json["attn_logit_softcapping"] = json["final_logit_softcapping"] = nullptr;
  json["pad_token_id"] = nullptr;  // transformers assumes 0
  return json.dump();
}

/// Reads the window and which layers have it. A list of the layers decides, as in transformers.
void read_gemma_window(ConfigReader& root, DecoderConfig& to) {
  AttentionVariant& a = to.attention;
  root.read<AttentionVariant>({{"sliding_window", &AttentionVariant::window, false, 1},
                               {"sliding_window_pattern", &AttentionVariant::window_pattern, false, 1},
                               {"_sliding_window_pattern", &AttentionVariant::window_pattern, false, 1}},
                              a);
  if (const auto kinds = root.given("layer_types")) {
    const std::vector<std::string> listed = kinds->texts();
    const auto full = std::find(listed.begin(), listed.end(), "full_attention");
    const int64_t first = full - listed.begin() + 1;
    a.window_pattern = full != listed.end() ? first : std::max(a.window_pattern, first);
    if (std::ssize(listed) != to.n_layer || listed != layer_types(to))
      kinds->refuse("must name ", to.n_layer, " layers, of which each ", a.window_pattern,
                    "th has full_attention and the others sliding_attention, got another list.");
  }
  if (a.window_pattern == 1) a.window = a.window_pattern = 0;
}

DecoderConfig read_gemma_config(ConfigReader& root) {
  DecoderConfig config{.arch = "gemma", .bias = false, .rope_theta = 1e6, .attention = kGemmaAttention};
  config.attention.head_dim = 256;
  read_rotary(root, true, "full_attention", config);
  read_gemma_window(root, config);
  const std::string size = std::to_string(config.attention.head_dim);
  if (size != "256") (void)root.at("query_pre_attn_scalar");  // its default
  root.expect("query_pre_attn_scalar", {size, size + ".0"});
  root.expect("hidden_activation", {"'gelu_pytorch_tanh'"});
  root.expect("rope_local_base_freq", {"10000", "10000.0"});
  if (const auto rope = root.given("rope_parameters"))
    if (const auto local = rope->find("sliding_attention")) {
      ConfigReader fields(*local);
      fields.expect("rope_theta", {"10000", "10000.0"});
      fields.expect("rope_type", {"'default'"});
      fields.finish();
    }
  return config;
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
      .attention = kGemmaAttention,
      .has_outer_norms = true,
      .make = [](const DecoderConfig& config, Generator& init) -> std::unique_ptr<Backbone> {
        return std::make_unique<RotaryDecoder<GemmaBlock>>(config, init, norms_of(config),
                                                           std::sqrt(static_cast<double>(config.n_embd)));
      },
      .inner = swiglu_inner,
      .check = check_gemma,
      .cost = gemma_cost,
      .describe = describe_with_inner,
      .model_types = {"gemma3_text"},
      .model_type = [](const DecoderConfig&) -> std::string_view { return "gemma3"; },
      .write_config = write_gemma_config,
      .read_config = read_gemma_config,
      .embedding = "model.embed_tokens.weight",
      .names = {{".h.", ".model.layers."},
                {".wte.", ".model.embed_tokens."},
                {".ln_f.", ".model.norm."},
                {".ln_1.", ".input_layernorm."},
                {".ln_2.", ".pre_feedforward_layernorm."},
                {".attn.c_proj.", ".attn.o_proj."},
                {".attn.", ".self_attn."}},
      .exports = {"gguf"},
      .title = [](const DecoderConfig&) -> std::string_view { return "Gemma3"; }};
  return row;
}

}  // namespace gradus::models
