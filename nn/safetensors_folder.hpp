// SafetensorsFolder: the tensors of a model's folder. They lie in one file, model.safetensors, or in several,
// the shards that model.safetensors.index.json lists, as Hugging Face's transformers cuts large models.
//
// Belongs to one thread, as its files do.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/files/folder.hpp"
#include "gradus/nn/safetensors.hpp"

namespace gradus::nn {

/// The name of the one file in its folder.
inline constexpr const char* kTensorFile = "model.safetensors";
/// The name of the list of shards in its folder.
inline constexpr const char* kTensorIndex = "model.safetensors.index.json";

/// The file of each tensor, by the tensor's name.
using SafetensorsIndex = std::map<std::string, std::string>;

/// Reads the text of an index: the object weight_map, a file name for each tensor; what else stands in it is
/// passed over. `file` is named in errors. Throws Error unless there are tensors, in at most 512 files, each
/// of which is a plain name, so that no index reaches out of its folder.
SafetensorsIndex parse_safetensors_index(std::string_view json, const std::string& file);

class SafetensorsFolder {
 public:
  /// Opens model.safetensors, or else all shards of the index. Of files that the folder has checksums of, all
  /// bytes are compared with them first, or those of the header. Throws Error, naming the file, as
  /// SafetensorsFile does, and unless index and shards have the same tensors.
  explicit SafetensorsFolder(const files::FolderSnapshot& folder,
                             SafetensorsFile::Compared compared = SafetensorsFile::Compared::all);

  const std::string& name() const { return name_; }  ///< path of the file or the index, for errors
  /// Each tensor's entry in its file, by the tensor's name.
  const std::map<std::string, const SafetensorsEntry*>& entries() const { return entries_; }
  /// The values of the tensor of that name in entries(); see SafetensorsFile::read.
  Tensor read(const std::string& name, bool keep_float64 = false);

 private:
  SafetensorsFile& open(const files::FolderSnapshot& folder, const std::string& file,
                        SafetensorsFile::Compared compared);
  void open_shards(const files::FolderSnapshot& folder, SafetensorsFile::Compared compared);

  std::string name_;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::map<std::string, const SafetensorsEntry*> entries_;
  std::map<std::string, SafetensorsFile*> file_of_;
};

}  // namespace gradus::nn
