#include "gradus/models/foreign_gpt2.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "gradus/files/error.hpp"
#include "gradus/models/config_json.hpp"

namespace gradus::models {
namespace {

DecoderConfig read_book(const files::Field& root, const std::string& file) {
  DecoderConfig config;
  config.vocab_size = root.at("vocab_size").integer();
  config.block_size = root.at("context_length").integer();
  config.n_embd = root.at("emb_dim").integer();
  config.n_layer = root.at("n_layers").integer();
  config.n_head = root.at("n_heads").integer();
  config.dropout = number(root, "drop_rate", 0.1);
  config.tie_word_embeddings = false;
  if (const auto qkv_bias = root.find("qkv_bias")) (void)qkv_bias->flag();  // The names tell.
  validate(config, file);
  return config;
}

DecoderConfig read_nano_gpt(const files::Field& root, const std::string& file) {
  DecoderConfig config;
  config.vocab_size = root.at("vocab_size").integer();
  config.block_size = root.at("block_size").integer();
  config.n_embd = root.at("n_embd").integer();
  config.n_layer = root.at("n_layer").integer();
  config.n_head = root.at("n_head").integer();
  config.dropout = number(root, "dropout", 0.0);
  config.bias = flag(root, "bias", true);
  validate(config, file);
  return config;
}

/// Queries, keys and values of a width lie one below another, so that the shape tells.
bool is_nano_gpt(const DecoderConfig& config, const StoredShapes& given) {
  const auto found = given.find("h.0.attn.c_attn.weight");
  return found != given.end() && found->second == Shape{3 * config.n_embd, config.n_embd};
}

/// {ours, the book's}, the layers of a block and those around the blocks.
constexpr std::pair<std::string_view, std::string_view> kBookLayers[] = {
    {"wte", "tok_emb"},
    {"wpe", "pos_emb"},
    {"ln_f", "final_norm"},
    {"lm_head", "out_head"},
    {"ln_1", "norm1"},
    {"ln_2", "norm2"},
    {"mlp.c_fc", "ff.layers.0"},
    {"mlp.c_proj", "ff.layers.2"},
    {"attn.c_proj", "att.out_proj"},
    {"attn.c_attn", "att."},
};

/// "trf_blocks.3.norm1.scale" for "h.3.ln_1.weight"; of what c_attn is cut into, the beginning.
std::string book_name(std::string_view ours) {
  std::string block;
  if (ours.starts_with("h.")) {
    const size_t end = ours.find('.', 2) + 1;
    block = concat("trf_blocks.", ours.substr(2, end - 2));
    ours.remove_prefix(end);
  }
  const size_t dot = ours.rfind('.');
  const std::string_view layer = ours.substr(0, dot), what = ours.substr(dot + 1);
  const auto* found = std::find_if(std::begin(kBookLayers), std::end(kBookLayers),
                                   [&](const auto& names) { return names.first == layer; });
  const bool is_norm = layer.starts_with("ln_");
  return concat(block, found->second, layer == "attn.c_attn" ? "" : ".",
                !is_norm           ? what
                : what == "weight" ? "scale"
                                   : "shift");
}

StoredLayout book_layout(const DecoderConfig& config, const StoredShapes& given) {
  const bool qkv_bias = std::any_of(given.begin(), given.end(),
                                    [](const auto& item) { return item.first.ends_with(".W_query.bias"); });
  const int64_t C = config.n_embd;
  StoredLayout layout{.parameters = {}, .head = "out_head.weight"};
  for (const auto& [name, shape] : config.parameter_shapes()) {
    const std::string stored = book_name(name);
    const bool is_bias = name.ends_with("c_attn.bias");
    if (!is_bias && !name.ends_with("c_attn.weight")) {
      layout.parameters.push_back({.name = stored, .shape = shape, .parameter = name});
      continue;
    }
    if (is_bias && !qkv_bias) continue;  // They are 0, as a model begins with.
    const std::string begin = stored.substr(0, stored.find("att.") + 4);
    int64_t row = 0;
    for (const char* part : {"W_query.", "W_key.", "W_value."}) {
      layout.parameters.push_back({.name = concat(begin, part, is_bias ? "bias" : "weight"),
                                   .shape = is_bias ? Shape{C} : Shape{C, C},
                                   .parameter = name,
                                   .first_row = row});
      row += C;
    }
  }
  return layout;
}

}  // namespace

std::optional<DecoderConfig> foreign_gpt2_config(const files::Field& root, const std::string& file) {
  if (root.has("model_type")) return {};
  if (root.has("emb_dim")) return read_book(root, file);
  if (root.has("block_size")) return read_nano_gpt(root, file);
  return {};
}

std::optional<StoredLayout> foreign_gpt2_layout(const DecoderConfig& config, const StoredShapes& given) {
  if (given.contains("tok_emb.weight")) return book_layout(config, given);
  if (!is_nano_gpt(config, given)) return {};
  StoredLayout layout;
  for (const auto& [name, shape] : config.parameter_shapes())
    layout.parameters.push_back({.name = name, .shape = shape, .parameter = name});
  return layout;
}

}  // namespace gradus::models
