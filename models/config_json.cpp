#include "gradus/models/config_json.hpp"

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>

#include "gradus/files/error.hpp"
#include "gradus/files/json.hpp"

namespace gradus::models {
namespace {

using files::Field;
using Json = nlohmann::ordered_json;

/// What every config ends with. Without null tokens GPT-2's or Llama's own, which our vocabularies may not
/// have, would be assumed.
void add_common(Json& json) {
  json["bos_token_id"] = nullptr;
  json["eos_token_id"] = nullptr;
  json["torch_dtype"] = "float32";
  json["gradus_version"] = GRADUS_VERSION;
}

Json gpt2_json(const GPTConfig& config) {
  Json json = {
      {"model_type", "gpt2"},
      {"architectures", {"GPT2LMHeadModel"}},
      {"vocab_size", config.vocab_size},
      {"n_positions", config.block_size},
      {"n_ctx", config.block_size},
      {"n_embd", config.n_embd},
      {"n_layer", config.n_layer},
      {"n_head", config.n_head},
      {"n_inner", nullptr},
      {"activation_function", "gelu_new"},
      {"layer_norm_epsilon", config.norm_eps},
      {"embd_pdrop", config.dropout},
      {"attn_pdrop", config.dropout},
      {"resid_pdrop", config.dropout},
      {"initializer_range", 0.02},
      {"scale_attn_weights", true},
      {"tie_word_embeddings", config.tie_word_embeddings},
  };
  add_common(json);
  if (!config.bias) json["gradus_bias"] = false;
  return json;
}

Json llama_json(const GPTConfig& config) {
  Json json = {
      {"model_type", config.qk_norm ? "qwen3" : "llama"},
      {"architectures", {config.qk_norm ? "Qwen3ForCausalLM" : "LlamaForCausalLM"}},
      {"vocab_size", config.vocab_size},
      {"max_position_embeddings", config.block_size},
      {"hidden_size", config.n_embd},
      {"intermediate_size", config.inner()},
      {"num_hidden_layers", config.n_layer},
      {"num_attention_heads", config.n_head},
      {"num_key_value_heads", config.kv_heads()},
      {"head_dim", config.n_embd / config.n_head},
      {"hidden_act", "silu"},
      {"rms_norm_eps", config.norm_eps},
      {"rope_theta", config.rope_theta},
      {"rope_scaling", nullptr},
      {"attention_bias", false},
      {"attention_dropout", config.dropout},
      {"initializer_range", 0.02},
      {"tie_word_embeddings", config.tie_word_embeddings},
  };
  if (config.qk_norm)
    json["use_sliding_window"] = false;
  else
    json["mlp_bias"] = false;
  add_common(json);
  return json;
}

double number(const Field& config, const char* key, double otherwise) {
  const std::optional<Field> field = config.find(key);
  return field ? field->number() : otherwise;
}

bool flag(const Field& config, const char* key, bool otherwise) {
  const std::optional<Field> field = config.find(key);
  return field ? field->flag() : otherwise;
}

/// Refuses what changes a model of any kind into one that GPT is not. What is not known is not looked at:
/// configs say much that has no part in the computation.
void expect_plain(const Field& root) {
  for (const char* key : {"quantization_config", "pruned_heads"}) {
    const std::optional<Field> field = root.find(key);
    if (!field || field->is_null() || (field->is_object() && field->size() == 0)) continue;
    field->refuse("must be null or {}, got ", field->shown(), ".");
  }
}

/// Refuses a config that says anything but one of `accepted`, each as errors show it; saying nothing means
/// the first of them.
void expect(const Field& config, const char* key, std::initializer_list<std::string_view> accepted) {
  const std::optional<Field> field = config.find(key);
  if (!field || std::find(accepted.begin(), accepted.end(), field->shown()) != accepted.end()) return;
  std::string known;
  for (const std::string_view one : accepted) known += concat(known.empty() ? "" : " or ", one);
  field->refuse("must be ", known, ", got ", field->shown(), ".");
}

void validate(const GPTConfig& config, const std::string& file) {
  try {
    config.validate();
  } catch (const Error& e) {
    fail("load_config", file, ": ", e.what());
  }
}

GPTConfig read_gpt2(const Field& root, const std::string& file) {
  GPTConfig config;
  config.vocab_size = root.at("vocab_size").integer();
  // The first GPT-2 files had n_ctx alone.
  config.block_size =
      root.at(root.has("n_positions") || !root.has("n_ctx") ? "n_positions" : "n_ctx").integer();
  config.n_embd = root.at("n_embd").integer();
  config.n_layer = root.at("n_layer").integer();
  config.n_head = root.at("n_head").integer();
  config.dropout = number(root, "resid_pdrop", 0.1);
  config.norm_eps = number(root, "layer_norm_epsilon", 1e-5);
  config.bias = flag(root, "gradus_bias", true);
  config.tie_word_embeddings = flag(root, "tie_word_embeddings", true);
  validate(config, file);

  expect(root, "n_inner", {"null", std::to_string(4 * config.n_embd)});
  expect(root, "activation_function", {"'gelu_new'", "'gelu_pytorch_tanh'", "'gelu_fast'"});
  expect(root, "scale_attn_weights", {"true"});
  expect(root, "scale_attn_by_inverse_layer_idx", {"false"});
  expect(root, "add_cross_attention", {"false"});
  for (const char* key : {"embd_pdrop", "attn_pdrop"})
    if (const double other = number(root, key, 0.1); other != config.dropout)
      root.refuse("must have equal dropouts, got resid_pdrop ", config.dropout, " and ", key, " ", other,
                  ".");
  return config;
}

/// The dictionary of the book Build a Large Language Model (From Scratch), GPT_CONFIG_124M.
GPTConfig read_book(const Field& root, const std::string& file) {
  GPTConfig config;
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

/// nanoGPT's model_args.
GPTConfig read_nano_gpt(const Field& root, const std::string& file) {
  GPTConfig config;
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

/// The base of the angles, which newer files keep in an object of its own. Angles that are stretched for
/// longer texts are not ours.
double rope_theta(const Field& root) {
  expect(root, "rope_scaling", {"null"});
  const std::optional<Field> parameters = root.find("rope_parameters");
  if (!parameters || parameters->is_null()) return number(root, "rope_theta", 10000.0);
  expect(*parameters, "rope_type", {"'default'"});
  return number(*parameters, "rope_theta", number(root, "rope_theta", 10000.0));
}

/// The heads of keys and values. Llama's are as many as those of queries where nothing is said.
int64_t kv_heads(const Field& root, const GPTConfig& config) {
  const std::optional<Field> field = root.find("num_key_value_heads");
  if (!field || field->is_null())
    return config.qk_norm ? root.at("num_key_value_heads").integer() : config.n_head;
  return field->integer();
}

GPTConfig read_llama(const Field& root, const std::string& file, bool qk_norm) {
  GPTConfig config{.arch = Arch::llama, .bias = false, .qk_norm = qk_norm};
  config.vocab_size = root.at("vocab_size").integer();
  config.block_size = root.at("max_position_embeddings").integer();
  config.n_embd = root.at("hidden_size").integer();
  config.n_layer = root.at("num_hidden_layers").integer();
  config.n_head = root.at("num_attention_heads").integer();
  config.dropout = number(root, "attention_dropout", 0.0);
  config.norm_eps = number(root, "rms_norm_eps", 1e-6);
  config.rope_theta = rope_theta(root);
  config.tie_word_embeddings = flag(root, "tie_word_embeddings", false);
  const int64_t n_kv_head = kv_heads(root, config), n_inner = root.at("intermediate_size").integer(1);
  if (n_kv_head < 1) root.at("num_key_value_heads").refuse("must be at least 1, got ", n_kv_head, ".");
  validate(config, file);
  // What is as it would be by itself stays unsaid, so that a config comes back as it was.
  if (n_kv_head != config.n_head) config.n_kv_head = n_kv_head;
  if (n_inner != config.inner()) config.n_inner = n_inner;
  validate(config, file);

  const std::string head_dim = std::to_string(config.n_embd / config.n_head);
  if (qk_norm && head_dim != "128") (void)root.at("head_dim");  // which is Qwen3's, whatever the width
  if (qk_norm)
    expect(root, "head_dim", {head_dim});
  else
    expect(root, "head_dim", {head_dim, "null"});
  expect(root, "hidden_act", {"'silu'", "'swish'"});
  expect(root, "attention_bias", {"false"});
  expect(root, "mlp_bias", {"false"});
  expect(root, "use_sliding_window", {"false"});
  expect(root, "partial_rotary_factor", {"1", "1.0", "null"});
  return config;
}

}  // namespace

std::string to_json(const GPTConfig& config) {
  return (config.arch == Arch::llama ? llama_json(config) : gpt2_json(config)).dump(2) + "\n";
}

GPTConfig config_from_json(std::string_view text, const std::string& file) {
  const files::Json json(text, "load_config", file);
  const Field root = json.root();
  expect_plain(root);
  if (!root.has("model_type") && root.has("emb_dim")) return read_book(root, file);
  if (!root.has("model_type") && root.has("block_size")) return read_nano_gpt(root, file);
  expect(root, "model_type", {"'gpt2'", "'llama'", "'qwen3'"});
  const std::optional<Field> type = root.find("model_type");
  if (!type || type->text() == "gpt2") return read_gpt2(root, file);
  return read_llama(root, file, type->text() == "qwen3");
}

}  // namespace gradus::models
