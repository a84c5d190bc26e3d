#include "gradus/models/stored/pretrained.hpp"

#include <algorithm>
#include <optional>

#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/files/foreign_formats.hpp"
#include "gradus/files/hashes.hpp"
#include "gradus/files/json.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/models/stored/adapter.hpp"
#include "gradus/models/stored/config_fields.hpp"
#include "gradus/models/stored/config_json.hpp"
#include "gradus/models/stored/stored_form.hpp"
#include "gradus/nn/init.hpp"
#include "gradus/nn/layers.hpp"
#include "gradus/nn/safetensors.hpp"

namespace gradus::models {
namespace {

using Compared = nn::TensorFile::Compared;

/// The names of the subfolders with a model, at most eight; empty if there are none.
std::string models_in(const std::filesystem::path& folder) {
  constexpr size_t kNamed = 8;
  std::vector<std::string> names;
  std::error_code ignored;
  for (std::filesystem::directory_iterator entry(folder, ignored), end; !ignored && entry != end;
       entry.increment(ignored))
    if (std::error_code refused; std::filesystem::exists(entry->path() / kConfig, refused))
      names.push_back(files::plain(entry->path().filename().string()));
  std::sort(names.begin(), names.end());
  const size_t others = names.size() - std::min(names.size(), kNamed);
  names.resize(names.size() - others);
  return others > 0 ? concat(joined(names), " and ", others, " more") : joined(names);
}

/// Whether a tensor of a file is a causal mask or rotary frequencies, not a parameter.
bool is_buffer(std::string_view name) {
  for (const char* end : {".attn.bias", ".attn.masked_bias", ".rotary_emb.inv_freq", ".att.mask"})
    if (name.ends_with(end)) return true;
  return false;
}

/// The shapes of a model's tensors by plain_name().
StoredShapes shapes_of(const nn::TensorFolder& tensors) {
  StoredShapes shapes;
  for (const auto& [stored, entry] : tensors.entries())
    if (const std::string name = plain_name(stored); !is_buffer(name)) shapes.emplace(name, entry->shape);
  return shapes;
}

/// Whether rows of a vocabulary that the config does not count fill it up, as GPT-2's 50,257 tokens are
/// filled up to 50,304 for speed: to a multiple of 64, by fewer than 1024.
bool is_filled_up(int64_t rows, int64_t counted) {
  return rows > counted && rows - counted < 1024 && rows % 64 == 0;
}

/// Whether the model has no config.json, but tensors.
bool describes_itself(const files::FolderSnapshot& folder) {
  if (folder.has(kConfig) || folder.checksum(kConfig)) return false;
  const bool is_hugging_face = folder.has(nn::kTensorFile) || folder.has(nn::kTensorIndex);
  return !folder.chosen().empty() || (nn::has_tensors(folder) && !is_hugging_face);
}

/// The text of config.json or, for a checkpoint without one, of what it says about its model.
std::string config_text(const files::FolderSnapshot& folder) {
  if (!describes_itself(folder)) return folder.text(kConfig);
  const nn::TensorFolder tensors(folder, Compared::header);
  const auto config_of = files::needed(files::foreign_models().config_of, "load_config",
                                       concat(tensors.name(), ", a model without ", kConfig, ","));
  if (const auto text = config_of(tensors, shapes_of(tensors))) return *text;
  fail("load_config", tensors.name(), " must have ", kConfig, " beside it, got none.");
}

/// For errors.
std::string config_place(const files::FolderSnapshot& folder) {
  return (folder.folder() / (describes_itself(folder) ? folder.chosen() : kConfig)).string();
}

/// The folders of the members of an ensemble; empty if the folder has one model.
std::vector<std::filesystem::path> member_folders(const files::FolderSnapshot& folder) {
  const files::Json json(config_text(folder), "load_config", config_place(folder));
  ConfigReader root(json.root());
  const std::optional<files::Field> type = root.find("model_type");
  std::vector<std::filesystem::path> members;
  if (!type || type->shown() != concat("'", kEnsemble, "'")) return members;
  for (const files::Field& item : root.at(kMembers).items()) {
    const std::filesystem::path member(item.text());
    if (member.empty() || member.is_absolute() || *member.lexically_normal().begin() == "..")
      item.refuse("must be a folder inside that of config.json, got ", item.shown(), ".");
    members.push_back(folder.folder() / member);
  }
  if (members.empty()) root.at(kMembers).refuse("must name at least one folder, got none.");
  (void)root.find("gradus_version");
  root.finish();
  return members;
}

/// The tensors of a file with a model of this config, in the layout whose names and shapes match `given`.
StoredLayout stored_layout(const DecoderConfig& config, const StoredShapes& given) {
  const StoredForm& form = stored_form(config.arch);
  StoredLayout layout;
  if (form.is_foreign && form.is_foreign(config, given))
    layout = files::needed(files::foreign_models().layout, "load_config",
                           "a model with the tensors of nanoGPT or the book")(config, given);
  else
    for (const auto& [name, shape] : config.parameter_shapes()) {
      const bool is_transposed = form.is_transposed && form.is_transposed(name);
      layout.parameters.push_back({.name = name,
                                   .shape = is_transposed ? Shape{shape[1], shape[0]} : shape,
                                   .parameter = name,
                                   .is_transposed = is_transposed});
    }
  for (StoredParameter& one : layout.parameters)
    one.is_vocab = one.parameter == form.embedding || one.parameter == kHead;
  return layout;
}

/// Sets the parameters of a module by their names. Those that are missing, biases, become zeros.
class Filler : public nn::Visitor {
 public:
  explicit Filler(const nn::StateDict& values) : values_(values) {}

 private:
  void on_parameter(const std::string& name, Tensor& parameter, nn::Role) override {
    const auto values = values_.find(name);
    parameter = values == values_.end() ? zeros(parameter.shape()) : values->second;
    if (is_floating(parameter.dtype())) parameter.requires_grad_();
  }
  const nn::StateDict& values_;
};

/// The tensors of a folder, whose names and shapes fit its config.
class StoredModel {
 public:
  StoredModel(const DecoderConfig& config, const files::FolderSnapshot& folder, Compared compared)
      : config_(config), tensors_(folder, compared) {
    for (const auto& [stored, entry] : tensors_.entries()) {
      const std::string name = plain_name(stored);
      if (is_buffer(name)) continue;
      if (const auto [first, is_new] = stored_names_.emplace(name, stored); !is_new)
        refuse("names must be unique, got ", first->second, " and ", stored, " for one parameter.");
      shapes_.emplace(name, entry->shape);
    }
    StoredLayout layout = stored_layout(config_, shapes_);
    parameters_ = std::move(layout.parameters);
    set_extra_tensors_aside(layout.head);
    nn::NamedShapes wanted;
    for (StoredParameter& one : parameters_) {
      const auto given = shapes_.find(one.name);
      if (one.is_vocab && given != shapes_.end() && given->second.size() == 2 &&
          is_filled_up(given->second[0], config_.vocab_size))
        one.shape[0] = given->second[0];
      wanted.emplace_back(one.name, one.shape);
    }
    if (!head_.empty()) wanted.emplace_back(head_, embedding().shape);
    try {
      nn::compare_shapes(wanted, shapes_);
    } catch (const Error& e) {
      refuse(files::without_op(e.what()));
    }
  }

  /// A model of config `as`, which may have fewer tokens and positions, with matrices of that dtype.
  Decoder load(const DecoderConfig& as, DType matrices) {
    const NoGrad no_grad;
    Generator generator(0);
    std::optional<nn::NoInit> without_values(std::in_place);
    Decoder model(as, generator);
    without_values.reset();
    nn::StateDict state;
    std::map<std::string, int> parts;
    for (const StoredParameter& one : parameters_) ++parts[one.parameter];
    const nn::NamedShapes shapes = model.state_shapes();
    const std::map<std::string, Shape> shape_of(shapes.begin(), shapes.end());
    for (const StoredParameter& one : parameters_) {
      Tensor& parameter = state[one.parameter];
      if (!parameter.defined()) parameter = empty(shape_of.at(one.parameter), DType::float32);
      const Tensor values = one.is_transposed ? read(one.name).mT() : read(one.name);
      const int64_t rows = std::min(values.size(0), parameter.size(0) - one.first_row);
      parameter.slice(0, one.first_row, one.first_row + rows).copy_(values.slice(0, 0, rows));
      if (--parts[one.parameter] > 0) continue;
      if (one.is_vocab && one.parameter == embedding().parameter) check_extra_tensors(parameter);
      if (parameter.dim() == 2 && matrices != DType::float32) parameter = parameter.to(matrices);
    }
    Filler(state).start(model);
    release_cached_memory();
    return model;
  }

  /// See weights_checksum().
  std::string checksum() {
    const NoGrad no_grad;
    std::sort(parameters_.begin(), parameters_.end(), [](const auto& a, const auto& b) {
      return std::pair(a.parameter, a.first_row) < std::pair(b.parameter, b.first_row);
    });
    uint32_t sum = 0;
    for (const StoredParameter& one : parameters_) {
      Tensor values = one.is_transposed ? read(one.name).mT() : read(one.name);
      if (one.is_vocab) values = values.slice(0, 0, std::min(values.size(0), config_.vocab_size));
      values = values.contiguous();
      sum = files::crc32({reinterpret_cast<const char*>(values.data<float>()),
                          static_cast<size_t>(values.numel()) * sizeof(float)},
                         sum);
    }
    return files::hex32(sum);
  }

 private:
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    fail("load_pretrained", tensors_.name(), ": ", parts...);
  }

  /// Finds the tensors that are not parameters of the model: a tied output projection, and zero biases.
  void set_extra_tensors_aside(const std::string& head) {
    if (config_.tie_word_embeddings && shapes_.contains(head)) {
      // A tied matrix that is stored once may have either name.
      std::string& name = shapes_.contains(embedding().name) ? head_ : embedding().name;
      name = head;
    }
    if (config_.bias || !stored_form(config_.arch).stores_zero_biases) return;
    for (const auto& [name, shape] : shapes_)
      if (name.ends_with(".bias")) zeros_.push_back(name);
    for (const std::string& name : zeros_) shapes_.erase(name);
  }

  void check_extra_tensors(const Tensor& embedding_values) {
    const auto all_zero = [](const Tensor& x) { return x.numel() == 0 || amax(abs(x)).item() == 0.0; };
    const int64_t rows = embedding_values.size(0);
    if (!head_.empty() && !all_zero(read(head_).slice(0, 0, rows) - embedding_values))
      refuse(head_, " must equal ", embedding().name,
             ", the output projection is tied to it, got other values. Hint: if it is not tied, config.json "
             "must have \"tie_word_embeddings\": false.");
    for (const std::string& name : zeros_)
      if (!all_zero(read(name))) refuse(name, " must be 0 in a model without biases.");
  }

  StoredParameter& embedding() {
    return *std::find_if(parameters_.begin(), parameters_.end(),
                         [](const StoredParameter& one) { return one.is_vocab; });
  }

  Tensor read(const std::string& name) { return tensors_.read_weight(stored_names_.at(name)); }

  DecoderConfig config_;
  nn::TensorFolder tensors_;
  std::map<std::string, std::string> stored_names_;  // by plain_name()
  StoredShapes shapes_;                              // by plain_name()
  std::vector<StoredParameter> parameters_;
  std::string head_;                // the output projection of a tied model, if it is stored too
  std::vector<std::string> zeros_;  // the biases, if the model has none
};

/// Throws Error unless a model of `config` can be cut to `as`.
void check_cut(const DecoderConfig& config, const DecoderConfig& as) {
  DecoderConfig same = as;
  same.vocab_size = config.vocab_size;
  same.block_size = config.block_size;
  same.dropout = config.dropout;
  if (same != config)
    fail("load_pretrained", "a model may be cut in vocab_size and block_size only, got another shape.");
  if (as.vocab_size > config.vocab_size)
    fail("load_pretrained", "vocab_size must be the model's ", config.vocab_size, ", or those of them that ",
         "are no padding, got ", as.vocab_size, ".");
  const bool is_learned = architecture(config.arch).positions == Positions::learned;
  if (is_learned && as.block_size > config.block_size)
    fail("load_pretrained", "block_size must be at most the ", config.block_size,
         " positions that the model has learnt, got ", as.block_size, ".");
}

}  // namespace

std::string weights_checksum(const std::filesystem::path& base) {
  return files::read_folder(base, [](const files::FolderSnapshot& folder) {
    return StoredModel(load_config(folder), folder, Compared::header).checksum();
  });
}

nn::NamedShapes stored_shapes(const DecoderConfig& config) {
  nn::NamedShapes shapes;
  for (const StoredParameter& one : stored_layout(config, {}).parameters)
    shapes.emplace_back(one.parameter, one.shape);
  return shapes;
}

DecoderConfig load_config(const std::filesystem::path& folder) {
  return files::read_folder(folder, [](const files::FolderSnapshot& files) { return load_config(files); });
}

DecoderConfig load_config(const files::FolderSnapshot& folder) {
  if (!folder.has(kConfig) && is_adapter(folder)) return load_config(base_of(folder));
  if (!folder.has(kConfig) && !folder.checksum(kConfig) && !describes_itself(folder))
    if (const std::string models = models_in(folder.folder()); !models.empty())
      fail("load_config", folder.folder(), " must have ", kConfig,
           ", got none. Hint: these subfolders have one: ", models, ".");
  const std::vector<std::filesystem::path> members = member_folders(folder);
  if (members.empty()) return config_from_json(config_text(folder), config_place(folder));
  std::optional<DecoderConfig> first;
  for (const std::filesystem::path& member : members) {
    DecoderConfig one = files::read_folder(member, [](const files::FolderSnapshot& files) {
      return config_from_json(files.text(kConfig), (files.folder() / kConfig).string());
    });
    if (first) one.dropout = first->dropout;  // --minutes plans that of each member
    if (first && one != *first)
      fail("load_config", folder.folder(), ": the members must have one config, got another in ", member,
           ".");
    first = one;
  }
  first->n_member = std::ssize(members);
  return *first;
}

std::string written_by(const std::filesystem::path& folder) {
  return files::read_folder(folder, [](const files::FolderSnapshot& files) {
    const files::Json json(files.text(kConfig), "load_config", (files.folder() / kConfig).string());
    const std::optional<files::Field> version = json.root().find("gradus_version");
    return version ? std::string(version->text()) : std::string();
  });
}

DecoderConfig check_pretrained(const std::filesystem::path& folder) {
  return files::read_folder(folder, [](const files::FolderSnapshot& files) {
    const DecoderConfig config = load_config(files);
    if (is_adapter(files)) {
      check_pretrained(base_of(files));
      return config;
    }
    const std::vector<std::filesystem::path> members = member_folders(files);
    if (members.empty()) const StoredModel checked(config, files, Compared::header);
    for (const std::filesystem::path& member : members) check_pretrained(member);
    return config;
  });
}

Decoder load_pretrained(const std::filesystem::path& folder) {
  return files::read_folder(folder,
                            [](const files::FolderSnapshot& files) { return load_pretrained(files); });
}

Decoder load_pretrained(const files::FolderSnapshot& folder) {
  return load_pretrained(folder, load_config(folder));
}

Decoder load_with_adapter(const std::filesystem::path& base, const files::FolderSnapshot& adapter,
                          const DecoderConfig& as, DType matrices) {
  Decoder model = files::read_folder(
      base, [&](const files::FolderSnapshot& files) { return load_pretrained(files, as, matrices); });
  add_adapter(model, adapter, base, weights_checksum);
  return model;
}

Decoder load_pretrained(const files::FolderSnapshot& folder, const DecoderConfig& as, DType matrices) {
  if (is_adapter(folder)) {
    Decoder model = load_with_adapter(base_of(folder), folder, as);
    nn::merge_lora(model);
    for (Tensor& parameter : model.parameters()) parameter.requires_grad_();
    return model;
  }
  const DecoderConfig config = load_config(folder);
  check_cut(config, as);
  const std::vector<std::filesystem::path> members = member_folders(folder);
  if (members.empty()) return StoredModel(config, folder, Compared::all).load(as, matrices);
  const NoGrad no_grad;
  Generator generator(0);
  Decoder ensemble(as, generator);
  nn::StateDict state = ensemble.state_dict();
  DecoderConfig one = as;
  one.n_member = 1;
  for (size_t i = 0; i < members.size(); ++i) {
    const Decoder member = files::read_folder(
        members[i], [&](const files::FolderSnapshot& files) { return load_pretrained(files, one); });
    const std::string begin =
        members.size() == 1 ? "" : concat("members.", i, ".");  // of one, it is this one
    for (const auto& [name, values] : member.state_dict()) state.at(begin + name).copy_(values);
  }
  return ensemble;
}

}  // namespace gradus::models
