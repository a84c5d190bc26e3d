// GPT-2 as nanoGPT and the book Build a Large Language Model (From Scratch) store it: models/stored/gpt2.cpp.
#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "gradus/annexes/formats/foreign/readers.hpp"
#include "gradus/files/error.hpp"
#include "gradus/models/stored/config_fields.hpp"
#include "gradus/models/stored/stored_form.hpp"
#include "gradus/nn/safetensors.hpp"

namespace gradus::foreign {

using models::ConfigReader, models::DecoderConfig, models::StoredLayout, models::StoredShapes;

namespace {

DecoderConfig read_book(ConfigReader& root) {
  DecoderConfig config{.dropout = 0.1, .tie_word_embeddings = false};
  root.read(models::size_fields("context_length", "emb_dim", "n_layers", "n_heads",
                                {{"drop_rate", &DecoderConfig::dropout}}),
            config);
  if (const auto qkv_bias = root.find("qkv_bias")) (void)qkv_bias->flag();  // The names determine it.
  return config;
}

DecoderConfig read_nano_gpt(ConfigReader& root) {
  DecoderConfig config;
  root.read(models::size_fields("block_size", "n_embd", "n_layer", "n_head",
                                {{"dropout", &DecoderConfig::dropout}, {"bias", &DecoderConfig::bias}}),
            config);
  return config;
}

/// {our name, the book's name} of each layer.
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

/// "trf_blocks.3.norm1.scale" for "h.3.ln_1.weight"; for c_attn the common beginning of the three names.
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
    if (is_bias && !qkv_bias) continue;  // They are 0, their initial value.
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

/// The book's dictionary for its tensors. The heads, whose number they do not tell, are 64 wide.
std::optional<std::string> book_config(const StoredShapes& given, const std::string& file) {
  constexpr int64_t kHeadWidth = 64;
  const auto tokens = given.find("tok_emb.weight"), positions = given.find("pos_emb.weight");
  if (tokens == given.end() || positions == given.end() || tokens->second.size() != 2 ||
      positions->second.size() != 2)
    return {};
  const int64_t width = tokens->second[1];
  if (width % kHeadWidth != 0)
    fail("load_config", file, ": the width must be a multiple of 64, as the heads of GPT-2 are, got ", width,
         ". Hint: a config.json beside the file can state its dictionary, with n_heads.");
  int64_t blocks = 0;
  while (given.contains(concat("trf_blocks.", blocks, ".norm1.scale"))) ++blocks;
  return nlohmann::json{{"vocab_size", tokens->second[0]},
                        {"context_length", positions->second[0]},
                        {"emb_dim", width},
                        {"n_layers", blocks},
                        {"n_heads", width / kHeadWidth}}
      .dump();
}

}  // namespace

DecoderConfig read_config(ConfigReader& root) {
  return root.object().has("emb_dim") ? read_book(root) : read_nano_gpt(root);
}

std::optional<std::string> config_of(const nn::TensorFolder& tensors, const StoredShapes& given) {
  static constexpr std::string_view kArguments = "model_args.";
  nlohmann::json arguments;
  for (const auto& [name, value] : tensors.header(0).metadata)
    if (name.starts_with(kArguments)) {
      const bool is_list = value.starts_with('[') || value.starts_with('{');  // could be nested deeply
      const nlohmann::json parsed = is_list
                                        ? nlohmann::json(nlohmann::json::value_t::discarded)
                                        : nlohmann::json::parse(value, nullptr, /*allow_exceptions=*/false);
      arguments[name.substr(kArguments.size())] = parsed.is_discarded() ? nlohmann::json(value) : parsed;
    }
  if (!arguments.empty()) return arguments.dump();
  return book_config(given, tensors.name());
}

StoredLayout layout(const DecoderConfig& config, const StoredShapes& given) {
  if (given.contains("tok_emb.weight")) return book_layout(config, given);
  StoredLayout layout;  // nanoGPT's
  for (const auto& [name, shape] : config.parameter_shapes())
    layout.parameters.push_back({.name = name, .shape = shape, .parameter = name});
  return layout;
}

}  // namespace gradus::foreign

namespace gradus::files {

const ForeignModels& foreign_models() {
  static constexpr ForeignModels kReaders{
      .read_config = foreign::read_config, .config_of = foreign::config_of, .layout = foreign::layout};
  return kReaders;
}

}  // namespace gradus::files
