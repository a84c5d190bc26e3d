#include "gradus/models/stored_layout.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "gradus/files/error.hpp"

namespace gradus::models {
namespace {

constexpr std::string_view kPrefixes[] = {"_orig_mod.", "transformer."};
constexpr const char *kHead = "lm_head.weight", *kBookTable = "tok_emb.weight";

bool is_book(const StoredShapes& given) { return given.contains(kBookTable); }

/// nanoGPT's names are Hugging Face's, but its matrices are Linear's. Queries, keys and values of a width
/// lie one below another, so that the shape tells.
bool is_nano_gpt(const GPTConfig& config, const StoredShapes& given) {
  const auto found = given.find("h.0.attn.c_attn.weight");
  return config.arch == Arch::gpt2 && found != given.end() &&
         found->second == Shape{3 * config.n_embd, config.n_embd};
}

const char* table_name(const GPTConfig& config) {
  return config.arch == Arch::llama ? "model.embed_tokens.weight" : "wte.weight";
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

std::vector<StoredParameter> book_parameters(const GPTConfig& config, const StoredShapes& given) {
  const bool qkv_bias = std::any_of(given.begin(), given.end(),
                                    [](const auto& item) { return item.first.ends_with(".W_query.bias"); });
  const int64_t C = config.n_embd;
  std::vector<StoredParameter> all;
  for (const auto& [name, shape] : config.parameter_shapes()) {
    const std::string stored = book_name(name);
    const bool is_bias = name.ends_with("c_attn.bias");
    if (!is_bias && !name.ends_with("c_attn.weight")) {
      all.push_back({.name = stored, .shape = shape, .parameter = name});
      continue;
    }
    if (is_bias && !qkv_bias) continue;  // They are 0, as a model begins with.
    const std::string begin = stored.substr(0, stored.find("att.") + 4);
    int64_t row = 0;
    for (const char* part : {"W_query.", "W_key.", "W_value."}) {
      all.push_back({.name = concat(begin, part, is_bias ? "bias" : "weight"),
                     .shape = is_bias ? Shape{C} : Shape{C, C},
                     .parameter = name,
                     .first_row = row});
      row += C;
    }
  }
  return all;
}

}  // namespace

std::string plain_name(std::string_view name) {
  for (const std::string_view prefix : kPrefixes)
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  return std::string(name);
}

bool is_buffer(std::string_view name) {
  static constexpr std::string_view kEnds[] = {".attn.bias", ".attn.masked_bias", ".rotary_emb.inv_freq",
                                               ".att.mask"};
  return std::any_of(std::begin(kEnds), std::end(kEnds),
                     [&](std::string_view end) { return name.ends_with(end); });
}

bool is_stored_turned(std::string_view name, const Shape& shape) {
  return shape.size() == 2 && (name.ends_with("c_attn.weight") || name.ends_with("c_proj.weight") ||
                               name.ends_with("c_fc.weight"));
}

std::vector<StoredParameter> stored_parameters(const GPTConfig& config, const StoredShapes& given) {
  std::vector<StoredParameter> all;
  if (config.arch == Arch::gpt2 && is_book(given)) {
    all = book_parameters(config, given);
  } else {
    const bool turns = !is_nano_gpt(config, given);
    for (const auto& [name, shape] : config.parameter_shapes()) {
      const bool turned = turns && is_stored_turned(name, shape);
      all.push_back({.name = name,
                     .shape = turned ? Shape{shape[1], shape[0]} : shape,
                     .parameter = name,
                     .turned = turned});
    }
  }
  for (StoredParameter& one : all) {
    one.is_vocab = one.parameter == table_name(config) || one.parameter == kHead;
    one.is_places = one.parameter == "wpe.weight";
  }
  return all;
}

HeadNames head_names(const GPTConfig& config, const StoredShapes& given) {
  if (config.arch == Arch::gpt2 && is_book(given)) return {"out_head.weight", kBookTable};
  return {kHead, table_name(config)};
}

}  // namespace gradus::models
