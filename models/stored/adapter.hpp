// Adapters (nn::LoRA) of a decoder in the files of PEFT: adapter_config.json, which names the folder of
// the base model, and adapter_model.safetensors. Not installed. Stateless.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gradus/files/folder.hpp"
#include "gradus/models/decoder.hpp"

namespace gradus::models {

inline constexpr const char* kAdapterFile = "adapter_model.safetensors";
inline constexpr const char* kAdapterConfig = "adapter_config.json";

/// The fields of adapter_config.json that affect the computation.
struct AdapterConfig {
  std::string base{};               ///< folder of the base model; empty if the file names none
  int64_t rank = 8;                 ///< of layers that rank_pattern does not list
  double alpha = 8;                 ///< of layers that alpha_pattern does not list
  double dropout = 0;               ///< probability, of the adapters' inputs
  bool is_rank_stabilized = false;  ///< alpha is divided by sqrt(r), not by r (arXiv 2312.03732)
  // The first row whose text is the whole name of a layer, or its end after a dot, applies to that layer.
  std::vector<std::pair<std::string, int64_t>> ranks{};
  std::vector<std::pair<std::string, double>> alphas{};
};

/// Reads the text of adapter_config.json. Throws Error, naming `file` and the field, if it is malformed, or
/// for a method other than LoRA, and for fields that are set and not known.
AdapterConfig adapter_config_from_json(std::string_view json, const std::string& file);

/// Whether a folder has an adapter and no model.
bool is_adapter(const files::FolderSnapshot& folder);
/// The folder of the base model, or the file that it was opened by. Throws Error, naming the file, if it is
/// not there or has an adapter itself.
std::filesystem::path base_of(const files::FolderSnapshot& adapter);

/// Gives the model the adapters of a folder, and freezes its other parameters. Throws Error, naming the file,
/// for tensors that do not fit the model. If the file has the checksum of its base, `base` must match it
/// (`checksum`: weights_checksum()).
void add_adapter(Decoder& model, const files::FolderSnapshot& adapter, const std::filesystem::path& base,
                 std::string (*checksum)(const std::filesystem::path& base));

/// Writes the adapters of a model, whose base in the folder `base` has that weights_checksum(), and its
/// config.json.
void save_adapter(const Decoder& model, const std::string& base, const std::string& checksum,
                  files::FolderUpdate& update);

}  // namespace gradus::models
