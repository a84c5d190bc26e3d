#include "gradus/models/gpt2_files.hpp"

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <string_view>

#include "gradus/autograd/ops.hpp"
#include "gradus/autograd/record.hpp"
#include "gradus/files/file.hpp"
#include "gradus/nn/safetensors.hpp"

namespace gradus::models {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kPrefix = "transformer.";
constexpr std::string_view kHead = "lm_head.weight";

/// transformers' Conv1D keeps its matrix [in, out]; ours is a Linear's, [out, in].
bool is_stored_transposed(std::string_view name) {
  return name.ends_with("c_attn.weight") || name.ends_with("c_proj.weight") || name.ends_with("c_fc.weight");
}

/// Old files hold the causal mask of each layer under names that look like a bias.
bool is_mask(std::string_view name) {
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
}

bool is_zero(const Tensor& x) { return amax(abs(x)).item() == 0.0; }

Json to_json(const GPTConfig& config) {
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
      {"layer_norm_epsilon", config.layer_norm_epsilon},
      {"embd_pdrop", config.dropout},
      {"attn_pdrop", config.dropout},
      {"resid_pdrop", config.dropout},
      {"initializer_range", 0.02},
      {"scale_attn_weights", true},
      {"tie_word_embeddings", true},
      // Else GPT-2's own, which our vocabularies may not have, would be assumed.
      {"bos_token_id", nullptr},
      {"eos_token_id", nullptr},
      {"torch_dtype", "float32"},
  };
  if (!config.bias) json["gradus_bias"] = false;
  return json;
}

/// config.json, field by field, with errors that name file and field.
class ConfigReader {
 public:
  explicit ConfigReader(const std::filesystem::path& path) : file_(path.string()) {
    const std::string text = files::read(path);
    json_ = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!json_.is_object()) refuse("must be a JSON object.");
  }

  int64_t integer(const char* field) const {
    const auto value = json_.find(field);
    if (value == json_.end()) refuse(field, " must be there.");
    if (!value->is_number_integer()) refuse(field, " must be a whole number, got ", value->dump(), ".");
    return value->get<int64_t>();
  }

  double number(const char* field, double otherwise) const {
    const auto value = json_.find(field);
    if (value == json_.end()) return otherwise;
    if (!value->is_number()) refuse(field, " must be a number, got ", value->dump(), ".");
    return value->get<double>();
  }

  bool flag(const char* field, bool otherwise) const {
    const auto value = json_.find(field);
    if (value == json_.end()) return otherwise;
    if (!value->is_boolean()) refuse(field, " must be true or false, got ", value->dump(), ".");
    return value->get<bool>();
  }

  /// Refuses a file that says anything but one of `accepted`; saying nothing means the first of them.
  void expect(const char* field, std::initializer_list<Json> accepted) const {
    const Json value = json_.value(field, *accepted.begin());
    std::string known;
    for (const Json& one : accepted) {
      if (value == one) return;
      known += concat(known.empty() ? "" : " or ", one.dump());
    }
    refuse(field, " must be ", known, ", got ", value.dump(), ".");
  }

  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    fail("load_config", file_, ": ", parts...);
  }

 private:
  std::string file_;
  Json json_;
};

}  // namespace

void save_pretrained(const GPT& model, const std::filesystem::path& folder) {
  const NoGrad no_grad;
  nn::StateDict stored;
  for (const auto& [name, parameter] : model.state_dict()) {
    const Tensor values = parameter.to(DType::float32);
    stored.emplace(name, is_stored_transposed(name) ? values.mT() : values);
    const bool is_table = name == "wte.weight" || name == "wpe.weight";
    if (!model.config().bias && !is_table) {
      const std::string layer = name.substr(0, name.size() - std::string_view("weight").size());
      stored.emplace(layer + "bias", zeros({values.size(0)}));
    }
  }

  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw RunError(concat("[save_pretrained] cannot make ", folder.string(), ": ", error.message(), "."));
  nn::save_safetensors(folder / "model.safetensors", stored);
  files::write_atomically(folder / "config.json",
                          [&](std::ostream& out) { out << to_json(model.config()).dump(2) << '\n'; });
}

GPTConfig load_config(const std::filesystem::path& folder) {
  const ConfigReader reader(folder / "config.json");
  reader.expect("model_type", {"gpt2"});
  GPTConfig config;
  config.vocab_size = reader.integer("vocab_size");
  config.block_size = reader.integer("n_positions");
  config.n_embd = reader.integer("n_embd");
  config.n_layer = reader.integer("n_layer");
  config.n_head = reader.integer("n_head");
  config.dropout = reader.number("resid_pdrop", 0.1);
  config.layer_norm_epsilon = reader.number("layer_norm_epsilon", 1e-5);
  config.bias = reader.flag("gradus_bias", true);

  try {
    config.validate();
  } catch (const Error& e) {
    reader.refuse(e.what());
  }

  reader.expect("n_inner", {nullptr, 4 * config.n_embd});
  reader.expect("activation_function", {"gelu_new", "gelu_pytorch_tanh"});
  reader.expect("scale_attn_weights", {true});
  reader.expect("scale_attn_by_inverse_layer_idx", {false});
  reader.expect("add_cross_attention", {false});
  reader.expect("tie_word_embeddings", {true});
  for (const char* field : {"embd_pdrop", "attn_pdrop"})
    if (reader.number(field, 0.1) != config.dropout)
      reader.refuse(field, " must equal resid_pdrop, ", config.dropout, ", got ", reader.number(field, 0.1),
                    ".");
  return config;
}

GPT load_pretrained(const std::filesystem::path& folder) {
  const GPTConfig config = load_config(folder);
  const std::filesystem::path path = folder / "model.safetensors";
  const auto refuse = [&](const auto&... parts) { fail("load_pretrained", path.string(), ": ", parts...); };

  const NoGrad no_grad;
  nn::SafetensorsFile file(path);
  nn::StateDict state;
  for (const nn::SafetensorsEntry& entry : file.header().entries) {
    std::string name = entry.name;
    if (name.starts_with(kPrefix)) name.erase(0, kPrefix.size());
    if (is_mask(name)) continue;
    const Tensor values = file.read(entry);
    const bool transposed = is_stored_transposed(name) && values.dim() == 2;
    if (!state.emplace(name, transposed ? values.mT() : values).second)
      refuse("names must be unique, got ", name, " with and without the prefix ", kPrefix, ".");
  }

  if (const auto head = state.find(std::string(kHead)); head != state.end()) {
    const auto wte = state.find("wte.weight");
    if (wte == state.end() || wte->second.shape() != head->second.shape() ||
        !is_zero(head->second - wte->second))
      refuse(kHead, " must equal wte.weight, the output projection is tied to it, got other values.");
    state.erase(head);
  }
  if (!config.bias) {
    std::erase_if(state, [&](const auto& item) {
      const auto& [name, values] = item;
      if (!name.ends_with(".bias")) return false;
      if (!is_zero(values)) refuse(name, " must be 0 in a model without biases.");
      return true;
    });
  }

  Generator generator(0);
  GPT model(config, generator);
  try {
    model.load_state_dict(state);
  } catch (const Error& e) {
    refuse(e.what());
  }
  return model;
}

}  // namespace gradus::models
