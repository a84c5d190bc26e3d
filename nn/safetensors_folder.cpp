// SafetensorsFolder: see safetensors.hpp.
#include "gradus/nn/safetensors.hpp"

#include <set>

#include "gradus/files/error.hpp"
#include "gradus/files/json.hpp"
#include "gradus/files/plain.hpp"

namespace gradus::nn {
namespace {

constexpr size_t kMostShards = 512;  // each is an open file

bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == name.npos &&
         name.find('\0') == name.npos;
}

/// A hint for a folder with a checkpoint of another format, else "".
std::string hint_for(const files::FolderSnapshot& folder) {
  for (const char* pickle : {"pytorch_model.bin", "pytorch_model.bin.index.json", "model.pth", "ckpt.pt"})
    if (folder.has(pickle))
      return concat(" Hint: ", pickle, " is Python's pickle, which is not supported; ",
                    "safetensors.torch.save_model(model, \"", kTensorFile, "\") writes a file that is.");
  return "";
}

}  // namespace

SafetensorsIndex parse_safetensors_index(std::string_view text, const std::string& file) {
  const files::Json json(text, "safetensors", file);
  const files::Field map = json.root().at("weight_map");
  SafetensorsIndex index;
  std::set<std::string_view> shards;
  for (const auto& [tensor, shard] : map.members()) {
    if (!is_plain_name(shard.text()))
      shard.refuse("must be the name of a file in the same folder, got ", shard.shown(), ".");
    index.emplace(tensor, shard.text());
    shards.insert(shard.text());
  }
  if (index.empty()) map.refuse("must have tensors, got none.");
  if (shards.size() > kMostShards)
    map.refuse("must name at most ", kMostShards, " files, got ", shards.size(), ".");
  return index;
}

SafetensorsFolder::SafetensorsFolder(const files::FolderSnapshot& folder,
                                     SafetensorsFile::Compared compared) {
  const bool is_sharded =
      !folder.has(kTensorFile) && !folder.checksum(kTensorFile) && folder.has(kTensorIndex);
  name_ = (folder.folder() / (is_sharded ? kTensorIndex : kTensorFile)).string();
  SafetensorsIndex index;
  std::set<std::string> names;
  if (is_sharded) {
    index = parse_safetensors_index(folder.text(kTensorIndex), name_);
    for (const auto& [tensor, shard] : index) names.insert(shard);
  } else {
    names.insert(kTensorFile);
    if (const std::string hint = folder.has(kTensorFile) ? "" : hint_for(folder); !hint.empty())
      fail("safetensors", name_, ": cannot be read: No such file or directory.", hint);
  }
  for (const std::string& name : names) {
    files_.push_back(
        std::make_unique<SafetensorsFile>(folder.folder() / name, folder.checksum(name), compared));
    for (const SafetensorsEntry& entry : files_.back()->header().entries) {
      const auto listed = index.find(entry.name);
      if (is_sharded && (listed == index.end() || listed->second != name))
        fail("safetensors", name_, ": weight_map must list the tensors of its files, got ",
             files::in_quotes(entry.name), " of ", files::in_quotes(name), " listed ",
             listed == index.end() ? "nowhere." : concat("in ", files::in_quotes(listed->second), "."));
      entries_.emplace(entry.name, &entry);
      file_of_.emplace(entry.name, files_.back().get());
    }
  }
  for (const auto& [tensor, shard] : index)
    if (!entries_.contains(tensor))
      fail("safetensors", name_, ": ", files::in_quotes(tensor), " must be in ", files::in_quotes(shard),
           ", as in weight_map, got a file without it.");
}

Tensor SafetensorsFolder::read(const std::string& name, bool keep_float64) {
  return file_of_.at(name)->read(*entries_.at(name), keep_float64);
}

}  // namespace gradus::nn
