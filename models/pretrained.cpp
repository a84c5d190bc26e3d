#include "gradus/models/pretrained.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "gradus/autograd/ops.hpp"
#include "gradus/autograd/record.hpp"
#include "gradus/files/json.hpp"
#include "gradus/models/config_json.hpp"
#include "gradus/nn/safetensors.hpp"

namespace gradus::models {
namespace {

constexpr const char* kModelFile = "model.safetensors";
constexpr std::string_view kPrefix = "transformer.";
constexpr std::string_view kHead = "lm_head.weight";

/// What old files hold beside parameters: the causal mask of each layer, under names that look like a bias,
/// and the frequencies of rotary positions.
bool is_constant(std::string_view name) {
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias") ||
         name.ends_with(".rotary_emb.inv_freq");
}

const char* table_name(const GPTConfig& config) {
  return config.arch == Arch::llama ? "model.embed_tokens.weight" : "wte.weight";
}

bool all_zero(const Tensor& x) { return x.numel() == 0 || amax(abs(x)).item() == 0.0; }

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
    if (head_ && !all_zero(file_.read(*head_) - state.at(table_name(config_))))
      refuse(kHead, " must equal ", table_name(config_),
             ", the output projection is tied to it, got other values.");
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
      if (!is_constant(name) && !entries_.emplace(name, &entry).second)
        refuse("names must be unique, got ", name, " with and without the prefix ", kPrefix, ".");
    }
  }

  /// Takes out what a model has no parameter for, to look at its values when they are read.
  void drop_unmeant() {
    const auto head = entries_.find(std::string(kHead));
    if (config_.tie_word_embeddings && head != entries_.end()) {
      const auto table = entries_.find(table_name(config_));
      if (table == entries_.end() || table->second->shape != head->second->shape)
        refuse(kHead, " must equal ", table_name(config_),
               ", the output projection is tied to it, got another shape.");
      head_ = head->second;
      entries_.erase(head);
    }
    if (config_.bias || config_.arch != Arch::gpt2) return;
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

bool is_stored_transposed(std::string_view name) {
  return name.ends_with("c_attn.weight") || name.ends_with("c_proj.weight") || name.ends_with("c_fc.weight");
}

nn::StateDict stored_state(const GPT& model) {
  const NoGrad no_grad;
  nn::StateDict stored;
  for (const auto& [name, parameter] : model.state_dict()) {
    const Tensor values = parameter.to(DType::float32);
    stored.emplace(name, is_stored_transposed(name) ? values.mT() : values);
    const bool is_table = name == "wte.weight" || name == "wpe.weight";
    if (model.config().arch == Arch::gpt2 && !model.config().bias && !is_table) {
      const std::string layer = name.substr(0, name.size() - std::string_view("weight").size());
      stored.emplace(layer + "bias", zeros({values.size(0)}));
    }
  }
  return stored;
}

void save_pretrained(const GPT& model, files::FolderUpdate& update) {
  nn::save_safetensors(update, kModelFile, stored_state(model));
  update.write("config.json", to_json(model.config()));
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
    const std::optional<files::Field> version = json.root().find("gradus_version");
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
