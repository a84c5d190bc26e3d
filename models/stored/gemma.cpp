// The files of a Gemma 3.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gradus/models/architecture.hpp"
#include "gradus/models/gemma.hpp"
#include "gradus/models/stored/rotary_fields.hpp"
#include "gradus/models/stored/stored_form.hpp"

namespace gradus::models {
namespace {

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
  DecoderConfig config{
      .arch = "gemma", .bias = false, .rope_theta = 1e6, .attention = architecture("gemma").attention};
  config.attention.head_dim = 256, config.attention.window = kUsualWindow;
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

const StoredForm& stored_gemma() {
  static const StoredForm form{
      .arch = "gemma",
      .model_types = {"gemma3_text"},
      .model_type = [](const DecoderConfig&) -> std::string_view { return "gemma3"; },
      .write_config = write_gemma_config,
      .read_config = read_gemma_config,
      .embedding = "model.embed_tokens.weight",
      .exports = {"gguf"},
      .title = [](const DecoderConfig&) -> std::string_view { return "Gemma3"; }};
  return form;
}

}  // namespace gradus::models
