#include "gradus/models/gpt2_files.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "gradus/autograd/ops.hpp"
#include "gradus/autograd/record.hpp"
#include "gradus/files/json.hpp"
#include "gradus/nn/safetensors.hpp"

namespace gradus::models {
namespace {

using files::Field;
using Json = nlohmann::ordered_json;

constexpr const char* kModelFile = "model.safetensors";
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

bool all_zero(const Tensor& x) { return x.numel() == 0 || amax(abs(x)).item() == 0.0; }

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
      {"gradus_version", GRADUS_VERSION},
  };
  if (!config.bias) json["gradus_bias"] = false;
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

/// Refuses a config that says anything but one of `accepted`, each as errors show it; saying nothing means
/// the first of them.
void expect(const Field& config, const char* key, std::initializer_list<std::string_view> accepted) {
  const std::optional<Field> field = config.find(key);
  if (!field || std::find(accepted.begin(), accepted.end(), field->shown()) != accepted.end()) return;
  std::string known;
  for (const std::string_view one : accepted) known += concat(known.empty() ? "" : " or ", one);
  field->refuse("must be ", known, ", got ", field->shown(), ".");
}

/// A folder whose config and names and shapes were read and fit one another.
class Stored {
 public:
  /// All bytes of the file are compared first, if it is known what they should be.
  Stored(const GPTConfig& config, const std::filesystem::path& file, const files::FileChecksum* expected)
      : config_(config), path_(file.string()), file_(file, expected) {
    list_entries();
    drop_unmeant();
    std::map<std::string, Shape> given;
    for (const auto& [name, entry] : entries_) given.emplace(name, shape(name, *entry));
    try {
      nn::compare_shapes(config_.parameter_shapes(), given);
    } catch (const Error& e) {
      refuse(e.what());
    }
  }

  GPT load() {
    const NoGrad no_grad;
    nn::StateDict state;
    for (const auto& [name, entry] : entries_) state.emplace(name, values(name, *entry));
    if (head_ && !all_zero(file_.read(*head_) - state.at("wte.weight")))
      refuse(kHead, " must equal wte.weight, the output projection is tied to it, got other values.");
    for (const auto& [name, entry] : zeros_)
      if (!all_zero(file_.read(*entry))) refuse(name, " must be 0 in a model without biases.");

    Generator generator(0);
    GPT model(config_, generator);
    model.load_state_dict(state);
    return model;
  }

 private:
  using Entry = nn::SafetensorsEntry;

  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    fail("load_pretrained", path_, ": ", parts...);
  }

  void list_entries() {
    for (const Entry& entry : file_.header().entries) {
      std::string name = entry.name;
      if (name.starts_with(kPrefix)) name.erase(0, kPrefix.size());
      if (!is_mask(name) && !entries_.emplace(name, &entry).second)
        refuse("names must be unique, got ", name, " with and without the prefix ", kPrefix, ".");
    }
  }

  /// Takes out what a model has no parameter for, to look at its values when they are read.
  void drop_unmeant() {
    if (const auto head = entries_.find(std::string(kHead)); head != entries_.end()) {
      const auto wte = entries_.find("wte.weight");
      if (wte == entries_.end() || wte->second->shape != head->second->shape)
        refuse(kHead, " must equal wte.weight, the output projection is tied to it, got another shape.");
      head_ = head->second;
      entries_.erase(head);
    }
    if (config_.bias) return;
    for (const auto& [name, entry] : entries_)
      if (name.ends_with(".bias")) zeros_.emplace(name, entry);
    std::erase_if(entries_, [](const auto& item) { return item.first.ends_with(".bias"); });
  }

  static bool is_turned(const std::string& name, const Entry& entry) {
    return is_stored_transposed(name) && entry.shape.size() == 2;
  }
  static Shape shape(const std::string& name, const Entry& entry) {
    return is_turned(name, entry) ? Shape{entry.shape[1], entry.shape[0]} : entry.shape;
  }
  Tensor values(const std::string& name, const Entry& entry) {
    const Tensor stored = file_.read(entry);
    return is_turned(name, entry) ? stored.mT() : stored;
  }

  GPTConfig config_;
  std::string path_;
  nn::SafetensorsFile file_;
  std::map<std::string, const Entry*> entries_;  // by name without prefix
  std::map<std::string, const Entry*> zeros_;    // biases of a model that has none
  const Entry* head_ = nullptr;
};

}  // namespace

void save_pretrained(const GPT& model, files::FolderUpdate& update) {
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
  nn::save_safetensors(update, kModelFile, stored);
  update.write("config.json", to_json(model.config()).dump(2) + "\n");
}

void save_pretrained(const GPT& model, const std::filesystem::path& folder) {
  files::make_folders(folder);
  files::FolderUpdate update(folder);
  save_pretrained(model, update);
  update.commit_without_list();
}

Shape stored_shape(std::string_view name, const Shape& shape) {
  return is_stored_transposed(name) && shape.size() == 2 ? Shape{shape[1], shape[0]} : shape;
}

GPTConfig config_from_json(std::string_view text, const std::string& file) {
  const files::Json json(text, "load_config", file);
  const Field root = json.root();
  expect(root, "model_type", {"'gpt2'"});
  GPTConfig config;
  config.vocab_size = root.at("vocab_size").integer();
  config.block_size = root.at("n_positions").integer();
  config.n_embd = root.at("n_embd").integer();
  config.n_layer = root.at("n_layer").integer();
  config.n_head = root.at("n_head").integer();
  config.dropout = number(root, "resid_pdrop", 0.1);
  config.layer_norm_epsilon = number(root, "layer_norm_epsilon", 1e-5);
  config.bias = flag(root, "gradus_bias", true);
  try {
    config.validate();
  } catch (const Error& e) {
    fail("load_config", file, ": ", e.what());
  }

  expect(root, "n_inner", {"null", std::to_string(4 * config.n_embd)});
  expect(root, "activation_function", {"'gelu_new'", "'gelu_pytorch_tanh'"});
  expect(root, "scale_attn_weights", {"true"});
  expect(root, "scale_attn_by_inverse_layer_idx", {"false"});
  expect(root, "add_cross_attention", {"false"});
  expect(root, "tie_word_embeddings", {"true"});
  for (const char* key : {"embd_pdrop", "attn_pdrop"})
    if (const double other = number(root, key, 0.1); other != config.dropout)
      root.refuse("must have equal dropouts, got resid_pdrop ", config.dropout, " and ", key, " ", other,
                  ".");
  return config;
}

GPTConfig load_config(const std::filesystem::path& folder) {
  return files::read_folder(folder, [](const files::FolderSnapshot& files) { return load_config(files); });
}

GPTConfig load_config(const files::FolderSnapshot& folder) {
  return config_from_json(folder.text("config.json"), (folder.folder() / "config.json").string());
}

std::string written_by(const std::filesystem::path& folder) {
  return files::read_folder(folder, [](const files::FolderSnapshot& files) {
    const files::Json json(files.text("config.json"), "load_config",
                           (files.folder() / "config.json").string());
    const std::optional<Field> version = json.root().find("gradus_version");
    return version ? std::string(version->text()) : std::string();
  });
}

GPTConfig check_pretrained(const std::filesystem::path& folder) {
  return files::read_folder(folder, [](const files::FolderSnapshot& files) {
    const GPTConfig config = load_config(files);
    const Stored checked(config, files.folder() / kModelFile, nullptr);
    return config;
  });
}

GPT load_pretrained(const std::filesystem::path& folder) {
  return files::read_folder(folder,
                            [](const files::FolderSnapshot& files) { return load_pretrained(files); });
}

GPT load_pretrained(const files::FolderSnapshot& folder) {
  return Stored(load_config(folder), folder.folder() / kModelFile, folder.checksum(kModelFile)).load();
}

}  // namespace gradus::models
