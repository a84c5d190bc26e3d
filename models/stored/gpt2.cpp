// The files of a GPT-2.
#include <nlohmann/json.hpp>

#include "gradus/files/error.hpp"
#include "gradus/files/foreign_formats.hpp"
#include "gradus/models/stored/config_fields.hpp"
#include "gradus/models/stored/stored_form.hpp"

namespace gradus::models {
namespace {

// Programs store a GPT-2 in three ways, of which the annex `formats` reads the last two:
//
//   Hugging Face  our names, with or without the prefix transformer.; the four matrices of a block are stored
//                 (in, out). This is the usual layout.
//   nanoGPT       the same names, matrices (out, in); karpathy/nanoGPT
//   the book      Raschka, Build a Large Language Model (From Scratch), chapter 4: other names, matrices
//                 (out, in), separate ones for queries, keys and values

/// nanoGPT stores c_attn as (3 C, C), Hugging Face as (C, 3 C).
bool is_nano_gpt(const DecoderConfig& config, const StoredShapes& given) {
  const auto found = given.find("h.0.attn.c_attn.weight");
  return found != given.end() && found->second == Shape{3 * config.n_embd, config.n_embd};
}

/// Whether tensors have nanoGPT's layout or the book's.
bool is_foreign(const DecoderConfig& config, const StoredShapes& given) {
  return given.contains("tok_emb.weight") || is_nano_gpt(config, given);
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
  write_fields(json, gpt2_fields("n_positions"), config);
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
  if (is_theirs && (root.object().has("emb_dim") || root.object().has("block_size")))
    return files::needed(files::foreign_models().read_config, "load_config",
                         "a config.json of nanoGPT or the book")(root);
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
                               .is_foreign = is_foreign,
                               .exports = {"gguf", "web"},
                               .title = [](const DecoderConfig&) -> std::string_view { return "GPT-2"; }};
  return form;
}

}  // namespace gradus::models
