// The files of a Llama, and of what computes the same: Qwen2, Qwen3 and Mistral.
#include <nlohmann/json.hpp>

#include "gradus/models/stored/rotary_fields.hpp"
#include "gradus/models/stored/stored_form.hpp"

namespace gradus::models {
namespace {

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
  auto json = nlohmann::ordered_json::parse(rotary_fields(config, type));
  json["hidden_act"] = "silu";
  if (type == "llama") json["mlp_bias"] = false;
  if (is_qwen) json["use_sliding_window"] = config.attention.window > 0;
  if (config.attention.window > 0) {
    json["sliding_window"] = config.attention.window;
    if (is_qwen) json["max_window_layers"] = config.attention.window_from;
  }
  return json.dump();
}

/// Reads the sliding window: of all layers for Mistral; for Qwen, if it is in use, from max_window_layers on.
void read_window(ConfigReader& root, std::string_view type, DecoderConfig& to) {
  const bool is_qwen = type == "qwen2" || type == "qwen3";
  const auto use = is_qwen ? root.given("use_sliding_window") : std::nullopt,
             from = is_qwen ? root.find("max_window_layers") : std::nullopt,
             window = type == "llama" ? std::nullopt : root.find("sliding_window"),
             kinds = root.given("layer_types");
  const bool in_use = is_qwen ? use && use->flag() : type == "mistral";
  int64_t first = to.n_layer;
  if (in_use && (window ? !window->is_null() : to.block_size > kUsualWindow)) {
    to.attention.window = window ? window->integer(1) : kUsualWindow;
    first = is_qwen ? (from ? *from : root.at("max_window_layers")).integer() : 0;
  }
  // Newer files list the layers too.
  const std::vector<std::string> listed = kinds ? kinds->texts() : std::vector<std::string>();
  bool is_right = !kinds || std::ssize(listed) == to.n_layer;
  for (int64_t i = 0; is_right && i < std::ssize(listed); ++i)
    is_right = listed[static_cast<size_t>(i)] == (i < first ? "full_attention" : "sliding_attention");
  if (!is_right)
    kinds->refuse("must be full_attention below layer ", first, " and sliding_attention from it on, got ",
                  "another list for ", to.n_layer, " layers.");
  if (first >= to.n_layer)
    to.attention.window = 0;
  else
    to.attention.window_from = first;
}

DecoderConfig read_llama_config(ConfigReader& root) {
  const std::string_view type = root.at("model_type").text();
  const bool is_qwen3 = type == "qwen3";
  DecoderConfig config{.arch = "llama", .bias = false, .qk_norm = is_qwen3, .tie_word_embeddings = false};
  if (is_qwen3) config.attention.head_dim = 128;
  read_rotary(root, /*needs_kv_heads=*/type != "llama", nullptr, config);
  root.read<AttentionVariant>({{"attention_bias", &AttentionVariant::qkv_bias}}, config.attention);
  if (type == "qwen2") config.attention.qkv_bias = true;  // whatever the field says, as in transformers
  config.attention.projection_bias = config.attention.qkv_bias && type != "qwen2";
  read_window(root, type, config);
  root.expect("hidden_act", {"'silu'", "'swish'"});
  root.expect("partial_rotary_factor", {"1", "1.0", "null"});
  return config;
}

}  // namespace

const StoredForm& stored_llama() {
  static const StoredForm form{.arch = "llama",
                               .model_types = {"llama", "qwen3", "qwen2", "mistral"},
                               .model_type = llama_model_type,
                               .write_config = write_llama_config,
                               .read_config = read_llama_config,
                               .embedding = "model.embed_tokens.weight",
                               .exports = {"gguf", "web"},
                               .title = llama_title};
  return form;
}

}  // namespace gradus::models
