#include "gradus/models/stored/adapter.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "gradus/files/hashes.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/models/stored/config_fields.hpp"
#include "gradus/models/stored/config_json.hpp"
#include "gradus/models/stored/stored_form.hpp"
#include "gradus/nn/layers.hpp"
#include "gradus/nn/safetensors.hpp"

namespace gradus::models {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = kPeftPrefix, kA = ".lora_A.weight", kB = ".lora_B.weight";
constexpr const char* kChecksum = "base_crc32";    // in the metadata of the tensors: weights_checksum()
constexpr std::string_view kUnknown = "00000000";  // that earlier versions wrote for .pt and .bin

constexpr files::Harmless kHarmlessOfAdapters[] = {
    {"target_modules exclude_modules layers_to_transform layers_pattern ",
     "the tensors' names say which layers"},
    {"task_type inference_mode auto_mapping peft_version ", "they concern Python's classes"},
    {"revision ", "the base model is known by its weights"},
    {"fan_in_fan_out ", "A and B have the same shapes and the same product in both layouts"},
    {"eva_config corda_config loftq_config ", "they give A and B their first values"},
    {"megatron_core qalora_group_size ", "options of methods that are off"},
    {"use_dora=false use_qalora=false lora_bias=false ensure_weight_tying=false merge_weights=false ",
     "methods that are off"},
};

/// The end of a name that a pattern of PEFT's matches. Of regular expressions, only dots are accepted.
std::string plain_end(std::string_view key, const files::Field& field) {
  if (key.empty() || key.find_first_of("\\^$*+?()[]{}|") != key.npos)
    field.refuse("must be for the name of a layer, got ", files::in_quotes(key), ".");
  return std::string(key);
}

fs::path config_path(const files::FolderSnapshot& folder) { return folder.folder() / kAdapterConfig; }

AdapterConfig read_config(const files::FolderSnapshot& adapter) {
  return adapter_config_from_json(adapter.text(kAdapterConfig), config_path(adapter).string());
}

/// Whether PEFT's re.match(rf"(.*\.)?({pattern})$", layer) finds a pattern, in which . is any character.
bool is_end_of(const std::string& pattern, const std::string& layer) {
  if (pattern.size() > layer.size()) return false;
  const size_t start = layer.size() - pattern.size();
  return (start == 0 || layer[start - 1] == '.') &&
         std::equal(pattern.begin(), pattern.end(), layer.begin() + static_cast<ptrdiff_t>(start),
                    [](char wanted, char given) { return wanted == '.' || wanted == given; });
}

/// The value of the first pattern that a layer's whole name matches.
template <class T>
T value_of(const std::vector<std::pair<std::string, T>>& values, const std::string& layer, T otherwise) {
  for (const auto& [pattern, value] : values)
    if (is_end_of(pattern, layer)) return value;
  return otherwise;
}

/// The alpha that gives the adapter's scale to the bit.
double alpha_of(const nn::LoRA& lora) {
  const auto r = static_cast<double>(lora.A.size(0));
  const double near = lora.scale * r;
  for (const double alpha : {std::nextafter(near, 0.0), std::nextafter(near, 2 * near)})
    if (near / r != lora.scale && alpha / r == lora.scale) return alpha;
  return near;
}

/// The CRC-32 of the files with the base's tensors, which earlier versions wrote, not that of the values.
std::string files_checksum(const fs::path& base) {
  return files::read_folder(base, [](const files::FolderSnapshot& folder) {
    uint32_t sum = 0;
    std::string piece(1 << 20, '\0');
    const nn::TensorFolder tensors(folder, nn::TensorFile::Compared::header);
    for (const fs::path& path : tensors.paths()) {
      const files::StableFile file(path);
      for (int64_t at = 0; at < file.size(); at += std::ssize(piece)) {
        const int64_t count = std::min(file.size() - at, std::ssize(piece));
        file.read(at, piece.data(), count);
        sum = files::crc32(std::string_view(piece).substr(0, static_cast<size_t>(count)), sum);
      }
    }
    return files::hex32(sum);
  });
}

}  // namespace

AdapterConfig adapter_config_from_json(std::string_view text, const std::string& file) {
  const files::Json json(text, "adapter", file);
  ConfigReader root(json.root());
  (void)root.at("peft_type");
  root.expect("peft_type", {"'LORA'"});
  root.expect("bias", {"'none'"});
  // Those that leave the base model as it is.
  root.expect("init_lora_weights", {"true", "false", "null", "'gaussian'", "'eva'"});
  AdapterConfig config;
  root.read<AdapterConfig>({{"r", &AdapterConfig::rank, true, 1},
                            {"lora_alpha", &AdapterConfig::alpha, true},
                            {"lora_dropout", &AdapterConfig::dropout},
                            {"use_rslora", &AdapterConfig::is_rank_stabilized}},
                           config);
  if (config.rank > 1'000'000) root.at("r").refuse("must be at most 1000000, got ", config.rank, ".");
  if (!(config.alpha > 0)) root.at("lora_alpha").refuse("must be above 0, got ", config.alpha, ".");
  if (!(config.dropout >= 0 && config.dropout < 1))
    root.at("lora_dropout").refuse("must be in [0, 1), got ", config.dropout, ".");
  if (const auto base = root.given("base_model_name_or_path")) config.base = base->text();
  if (const auto ranks = root.given("rank_pattern"))
    for (const auto& [key, rank] : ranks->members())
      config.ranks.emplace_back(plain_end(key, rank), rank.integer(1));
  if (const auto alphas = root.given("alpha_pattern"))
    for (const auto& [key, alpha] : alphas->members()) {
      if (!(alpha.number() > 0)) alpha.refuse("must be above 0, got ", alpha.shown(), ".");
      config.alphas.emplace_back(plain_end(key, alpha), alpha.number());
    }
  root.finish(kHarmlessOfAdapters);
  return config;
}

bool is_adapter(const files::FolderSnapshot& folder) {
  const bool is_chosen = folder.chosen().empty() || folder.chosen() == kAdapterFile;
  return is_chosen && folder.has(kAdapterConfig) && !nn::has_tensors(folder);
}

fs::path base_of(const files::FolderSnapshot& adapter) {
  const std::string base = read_config(adapter).base;
  const auto refuse = [&](const auto&... parts) {
    fail("adapter", config_path(adapter).string(),
         ": base_model_name_or_path must be the folder of the base model, ", parts...);
  };
  std::error_code ignored;
  const bool is_file = fs::is_regular_file(base, ignored);
  if (base.empty() || (!is_file && !fs::is_directory(base, ignored)))
    refuse("got ", files::in_quotes(base),
           ", which is not there. Hint: if it is elsewhere, give its folder, and this ", "one as ",
           Option{"adapter"}, ".");
  if (!is_file && is_adapter(files::FolderSnapshot(base, {})))
    refuse("got ", files::in_quotes(base), ", which has another adapter. Hint: merge that first.");
  return base;
}

void add_adapter(Decoder& model, const files::FolderSnapshot& adapter, const fs::path& base,
                 std::string (*checksum)(const fs::path& base)) {
  const AdapterConfig config = read_config(adapter);
  const std::string file = (adapter.folder() / kAdapterFile).string();
  nn::SafetensorsFile tensors(file, adapter.checksum(kAdapterFile));
  const auto refuse = [&](const auto&... parts) { fail("adapter", file, ": ", parts...); };
  const nn::Metadata& metadata = tensors.header().metadata;
  if (const auto sum = metadata.find(kChecksum); sum != metadata.end() && sum->second != kUnknown &&
                                                 sum->second != checksum(base) &&
                                                 sum->second != files_checksum(base))
    refuse("the base model must be the one that it was trained on, got other weights in ", base, ".");

  const std::string& untied = std::string(stored_form(model.config().arch).untied_prefix);
  std::map<std::string, const nn::TensorEntry*> entries;
  for (const nn::TensorEntry& entry : tensors.header().entries) {
    const std::string name = plain_name(entry.name);
    if (!entries.emplace(name, &entry).second)
      refuse("names must be unique, got ", files::in_quotes(name), " twice.");
  }
  for (Tensor& parameter : model.parameters()) parameter.requires_grad_(false);
  Generator unused(0);
  for (const auto& [name, layer] : nn::linear_layers(model)) {
    const auto a = entries.find(name + std::string(kA)), b = entries.find(name + std::string(kB));
    if (a == entries.end() || b == entries.end()) continue;
    const Shape &down = a->second->shape, &up = b->second->shape, &full = layer->weight.shape();
    if (down.size() != 2 || up != Shape{full[0], down[0]} || down != Shape{up[1], full[1]} || down[0] < 1)
      refuse("the adapter of ", name, " must be (r, ", full[1], ") and (", full[0], ", r), got ", down,
             " and ", up, ".");
    const std::string whole = untied + name;
    if (const int64_t rank = value_of(config.ranks, whole, config.rank); down[0] != rank)
      refuse("the adapter of ", name, " must have the rank of ", kAdapterConfig, ", ", rank, ", got ",
             down[0], ".");
    const double r = static_cast<double>(down[0]), alpha = value_of(config.alphas, whole, config.alpha);
    nn::LoRA& lora =
        layer->lora.emplace(full[1], full[0], unused,
                            nn::LoRAOptions{.rank = down[0],
                                            .alpha = config.is_rank_stabilized ? alpha * std::sqrt(r) : alpha,
                                            .dropout = config.dropout});
    for (const auto& [factor, entry] : {std::pair(&lora.A, a->second), {&lora.B, b->second}})
      factor->detach().copy_(tensors.read_weight(*entry));
    entries.erase(a);
    entries.erase(b);
  }
  if (!entries.empty())
    refuse("tensors must be lora_A and lora_B of linear layers of the model, got ",
           files::in_quotes(entries.begin()->second->name), ".");
  if (tensors.header().entries.empty()) refuse("must have an adapter, got no tensors.");
}

void save_adapter(const Decoder& model, const std::string& base, const std::string& checksum,
                  files::FolderUpdate& update) {
  const std::string prefix = concat(kPrefix, stored_form(model.config().arch).untied_prefix);
  nn::StateDict tensors;
  std::set<std::string> ends, bare;  // the last parts of the names of layers with adapters, and without
  std::optional<nn::LoRA> first;
  nlohmann::ordered_json ranks = nlohmann::ordered_json::object(), alphas = ranks;
  for (const auto& [name, layer] : nn::linear_layers(const_cast<Decoder&>(model))) {
    (layer->lora ? ends : bare).insert(name.substr(name.rfind('.') + 1));
    if (!layer->lora) continue;
    const nn::LoRA& lora = *layer->lora;
    if (!first) first = lora;
    tensors.emplace(concat(prefix, name, kA), lora.A.detach());
    tensors.emplace(concat(prefix, name, kB), lora.B.detach());
    const int64_t r = lora.A.size(0), usual = first->A.size(0);
    if (r != usual) ranks[name] = r;
    if (alpha_of(lora) != alpha_of(*first)) alphas[name] = alpha_of(lora);
  }
  if (!first) fail("adapter", "the model must have adapters, got none.");
  std::vector<std::string> targets(ends.begin(), ends.end());
  if (std::any_of(targets.begin(), targets.end(),
                  [&](const std::string& end) { return bare.contains(end); })) {
    targets.clear();
    for (const auto& [name, values] : tensors)
      if (name.ends_with(kA))
        targets.push_back(name.substr(kPrefix.size(), name.size() - kPrefix.size() - kA.size()));
  }
  const nlohmann::ordered_json json{
      {"peft_type", "LORA"},
      {"task_type", "CAUSAL_LM"},
      {"base_model_name_or_path", base},
      {"r", first->A.size(0)},
      {"lora_alpha", alpha_of(*first)},
      {"lora_dropout", first->dropout},
      {"target_modules", targets},
      {"rank_pattern", ranks},
      {"alpha_pattern", alphas},
      {"bias", "none"},
      {"fan_in_fan_out", stored_form(model.config().arch).is_transposed != nullptr},
      {"inference_mode", true}};
  nn::save_safetensors(update, kAdapterFile, tensors, {{"format", "pt"}, {kChecksum, checksum}});
  update.write(kAdapterConfig, json.dump(2) + "\n");
  update.write("config.json", to_json(model.config()));
}

}  // namespace gradus::models
