// Gemma 3 (Gemma Team, arXiv 2503.19786), models of text: blocks with norms before and after attention and
// MLP, GeGLU, and windows in all blocks but each window_pattern-th. Parameters have the names of Hugging
// Face's files.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "gradus/files/error.hpp"
#include "gradus/models/config_json.hpp"
#include "gradus/models/rotary_decoder.hpp"

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
  return config_text(json.dump());
}

/// Reads the window and which layers have it. A list of the layers decides, as in transformers.
void read_gemma_window(const files::Field& root, DecoderConfig& to) {
  AttentionVariant& a = to.attention;
  if (const auto window = root.find("sliding_window")) a.window = window->integer(1);
  for (const char* key : {"sliding_window_pattern", "_sliding_window_pattern"})
    if (const auto pattern = root.find(key)) a.window_pattern = pattern->integer(1);
  if (const auto kinds = root.find("layer_types"); kinds && kinds->is_list()) {
    const std::vector<std::string> listed = kinds->texts();
    const auto full = std::find(listed.begin(), listed.end(), "full_attention");
    const int64_t first = full - listed.begin() + 1;
    a.window_pattern = full != listed.end() ? first : std::max(a.window_pattern, first);
    if (listed != layer_types(to))
      kinds->refuse("must name ", to.n_layer, " layers, of which each ", a.window_pattern,
                    "th has full_attention and the others sliding_attention, got another list.");
  }
  if (a.window_pattern == 1) a.window = a.window_pattern = 0;
}

DecoderConfig read_gemma_config(const files::Field& root, const std::string& file) {
  DecoderConfig config{.arch = "gemma", .bias = false, .rope_theta = 1e6, .attention = kGemmaAttention};
  read_rotary(root, file, 256, "full_attention", config);
  read_gemma_window(root, config);
  validate(config, file);

  const std::string size = std::to_string(config.head_size());
  if (size != "256") (void)root.at("query_pre_attn_scalar");  // its default
  expect(root, "query_pre_attn_scalar", {size, size + ".0"});
  expect(root, "hidden_activation", {"'gelu_pytorch_tanh'"});
  expect(root, "rope_local_base_freq", {"10000", "10000.0"});
  if (const auto rope = root.find("rope_parameters"); rope && rope->is_object())
    if (const auto local = rope->find("sliding_attention")) {
      expect(*local, "rope_theta", {"10000", "10000.0"});
      expect(*local, "rope_type", {"'default'"});
    }
  for (const char* key : {"attention_bias", "use_bidirectional_attention"})
    expect(root, key, {"false", "null"});
  for (const char* key : {"attn_logit_softcapping", "final_logit_softcapping"}) expect(root, key, {"null"});
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
      .make = [](const DecoderConfig& config,
                 Generator& init) { return make_rotary(config, init, gemma_attention); },
      .inner = swiglu_inner,
      .check = check_gemma,
      .cost = rotary_cost,
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
