// The files of a GPT-2.
#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "gradus/files/error.hpp"
#include "gradus/models/stored/config_fields.hpp"
#include "gradus/models/stored/stored_form.hpp"

namespace gradus::models {
namespace {

// Programs store a GPT-2 in three ways:
//
//   Hugging Face  our names, with or without the prefix transformer.; the four matrices of a block are stored
//                 (in, out). This is the usual layout.
//   nanoGPT       the same names, matrices (out, in); karpathy/nanoGPT
//   the book      Raschka, Build a Large Language Model (From Scratch), chapter 4: other names, matrices
//                 (out, in), separate ones for queries, keys and values

DecoderConfig read_book(ConfigReader& root) {
  DecoderConfig config{.dropout = 0.1, .tie_word_embeddings = false};
  root.read(size_fields("context_length", "emb_dim", "n_layers", "n_heads",
                        {{"drop_rate", &DecoderConfig::dropout}}),
            config);
  if (const auto qkv_bias = root.find("qkv_bias")) (void)qkv_bias->flag();  // The names determine it.
  return config;
}

DecoderConfig read_nano_gpt(ConfigReader& root) {
  DecoderConfig config;
  root.read(size_fields("block_size", "n_embd", "n_layer", "n_head",
                        {{"dropout", &DecoderConfig::dropout}, {"bias", &DecoderConfig::bias}}),
            config);
  return config;
}

/// nanoGPT stores c_attn as (3 C, C), Hugging Face as (C, 3 C).
bool is_nano_gpt(const DecoderConfig& config, const StoredShapes& given) {
  const auto found = given.find("h.0.attn.c_attn.weight");
  return found != given.end() && found->second == Shape{3 * config.n_embd, config.n_embd};
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

/// The book's dictionary for its tensors. They do not tell the number of heads: it has those of GPT-2, 64
/// wide.
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

/// The layout of nanoGPT or the book; none if `given` has neither.
std::optional<StoredLayout> foreign_layout(const DecoderConfig& config, const StoredShapes& given) {
  if (given.contains("tok_emb.weight")) return book_layout(config, given);
  if (!is_nano_gpt(config, given)) return {};
  StoredLayout layout;
  for (const auto& [name, shape] : config.parameter_shapes())
    layout.parameters.push_back({.name = name, .shape = shape, .parameter = name});
  return layout;
}

// -- config.json and the entry of the registry

ConfigFields<DecoderConfig> gpt2_fields(const char* block_size) {
  return size_fields(block_size, "n_embd", "n_layer", "n_head",
                     {{"resid_pdrop", &DecoderConfig::dropout},
                      {"layer_norm_epsilon", &DecoderConfig::norm_eps},
                      {"tie_word_embeddings", &DecoderConfig::tie_word_embeddings}});
}

/// A GPT-2 without biases is stored with zero biases and "gradus_bias": false in config.json: other programs
/// can read it, and loading it restores the config.
std::string write_gpt2_config(const DecoderConfig& config) {
  nlohmann::ordered_json json{{"model_type", "gpt2"}, {"architectures", {"GPT2LMHeadModel"}}};
  json.update(nlohmann::ordered_json::parse(write_fields(gpt2_fields("n_positions"), config)));
  json["n_ctx"] = config.block_size;
  json["n_inner"] = nullptr;
  json["activation_function"] = "gelu_new";
  json["embd_pdrop"] = json["attn_pdrop"] = config.dropout;
  json["initializer_range"] = 0.02;
  json["scale_attn_weights"] = true;
  if (!config.bias) json["gradus_bias"] = false;
  return json.dump();
}

DecoderConfig read_gpt2_config(ConfigReader& root) {
  const bool is_theirs = !root.find("model_type");
  if (is_theirs && root.object().has("emb_dim")) return read_book(root);
  if (is_theirs && root.object().has("block_size")) return read_nano_gpt(root);
  DecoderConfig config{.dropout = 0.1};
  // The first GPT-2 files have n_ctx only.
  const bool has_n_ctx = root.find("n_ctx").has_value(), has_both = root.find("n_positions").has_value();
  root.read(gpt2_fields(has_n_ctx && !has_both ? "n_ctx" : "n_positions"), config);
  root.read<DecoderConfig>({{"gradus_bias", &DecoderConfig::bias}}, config);
  if (const auto inner = root.given("n_inner");
      inner && inner->number() != 4.0 * static_cast<double>(config.n_embd))
    inner->refuse("must be null or ", 4 * config.n_embd, ", got ", inner->shown(), ".");
  root.expect("activation_function", {"'gelu_new'", "'gelu_pytorch_tanh'", "'gelu_fast'"});
  root.expect("scale_attn_weights", {"true"});
  for (const char* key : {"embd_pdrop", "attn_pdrop"}) {
    const auto field = root.find(key);
    if (const double other = field ? field->number() : 0.1; other != config.dropout)
      root.object().refuse("must have equal dropouts, got resid_pdrop ", config.dropout, " and ", key, " ",
                           other, ".");
  }
  return config;
}

/// transformers' Conv1D stores its matrices as (in, out).
bool is_conv1d(std::string_view name) {
  return name.ends_with("c_attn.weight") || name.ends_with("c_proj.weight") || name.ends_with("c_fc.weight");
}

}  // namespace

const StoredForm& stored_gpt2() {
  static const StoredForm form{.arch = "gpt2",
                               .model_types = {"gpt2"},
                               .model_type = [](const DecoderConfig&) -> std::string_view { return "gpt2"; },
                               .write_config = write_gpt2_config,
                               .read_config = read_gpt2_config,
                               .embedding = "wte.weight",
                               .is_transposed = is_conv1d,
                               // A tied model is stored with the names of transformers' GPT2Model, another
                               // with those of GPT2LMHeadModel.
                               .untied_prefix = "transformer.",
                               .stores_zero_biases = true,
                               .foreign_layout = foreign_layout,
                               .config_of = book_config,
                               .exports = {"gguf", "web"},
                               .title = [](const DecoderConfig&) -> std::string_view { return "GPT-2"; }};
  return form;
}

}  // namespace gradus::models
