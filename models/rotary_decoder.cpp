#include "gradus/models/rotary_decoder.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "gradus/files/error.hpp"

namespace gradus::models {
namespace {

const ConfigFields<DecoderConfig> kRotaryFields =
    size_fields("max_position_embeddings", "hidden_size", "num_hidden_layers", "num_attention_heads",
                {{"intermediate_size", &DecoderConfig::n_inner, true, 1},
                 {"num_key_value_heads", &DecoderConfig::n_kv_head, false, 1},
                 {"rms_norm_eps", &DecoderConfig::norm_eps},
                 {"attention_dropout", &DecoderConfig::dropout},
                 {"tie_word_embeddings", &DecoderConfig::tie_word_embeddings}});
const ConfigFields<AttentionVariant> kAttention{{"head_dim", &AttentionVariant::head_dim, false, 1}};

}  // namespace

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
  nlohmann::ordered_json json{
      {"model_type", type},
      {"architectures", {concat(architecture(config.arch).title(config), "ForCausalLM")}}};
  json.update(nlohmann::ordered_json::parse(write_fields(kRotaryFields, config)));
  json.update(nlohmann::ordered_json::parse(write_fields(kAttention, config.attention)));
  json["rope_theta"] = config.rope_theta;
  json["rope_scaling"] = nlohmann::json::parse(rope_scaling_json(config.attention.rope_scaling));
  json["initializer_range"] = 0.02;
  json["attention_bias"] = config.attention.qkv_bias;
  return json.dump();
}

void read_rotary(ConfigReader& root, bool needs_kv_heads, const char* kind, DecoderConfig& to) {
  to.norm_eps = 1e-6;
  root.read(kRotaryFields, to);
  root.read(kAttention, to.attention);
  read_rope(root, to, kind);
  if (needs_kv_heads) (void)root.at("num_key_value_heads").integer(1);
}

}  // namespace gradus::models
