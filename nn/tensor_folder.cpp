// TensorFolder: see safetensors.hpp.
#include "gradus/files/folder.hpp"
#include "gradus/nn/safetensors.hpp"

#include <algorithm>
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

/// "model.safetensors" for the shard "model-00001-of-00003.safetensors"; "" for another name.
std::string whole_of(std::string name) {
  std::string zeros = name;
  std::replace_if(
      zeros.begin(), zeros.end(), [](char c) { return c >= '0' && c <= '9'; }, '0');
  constexpr std::string_view kPart = "-00000-of-00000";
  const size_t at = zeros.find(concat(kPart, "."));
  return at == name.npos ? "" : name.erase(at, kPart.size());
}

/// The names of the shards of a file, such as model.safetensors, that are in the folder.
std::set<std::string> shards_in(const std::filesystem::path& folder, std::string_view whole) {
  std::set<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder / ".", error), end; !error && entry != end;
       entry.increment(error))
    if (std::string name = entry->path().filename().string(); whole_of(name) == whole)
      names.insert(std::move(name));
  return names;
}

constexpr const char* kNames[] = {
    kTensorFile, kTensorIndex, "pytorch_model.bin", "pytorch_model.bin.index.json", "model.pth", "ckpt.pt"};

/// The name of the file or the index.
std::string tensor_file(const files::FolderSnapshot& folder) {
  if (!folder.chosen().empty()) return folder.chosen();
  for (const char* name : kNames)
    if (folder.has(name) || folder.checksum(name)) return name;
  for (const char* whole : {kTensorFile, "pytorch_model.bin"})
    if (const auto shards = shards_in(folder.folder(), whole); !shards.empty())
      fail("safetensors", folder.folder(), " must have ", whole, ".index.json, the list of its shards, got ",
           files::in_quotes(*shards.begin()), " without it.");
  return kTensorFile;
}

}  // namespace

bool has_tensors(const files::FolderSnapshot& folder) {
  return std::ranges::any_of(kNames, [&](const char* name) { return folder.has(name); });
}

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

TensorFolder::TensorFolder(const files::FolderSnapshot& folder, SafetensorsFile::Compared compared) {
  const std::string file = tensor_file(folder);
  const bool is_sharded = file.ends_with(".json");
  name_ = (folder.folder() / file).string();
  if (const std::string whole = whole_of(file); !whole.empty() && file.find("-of-00001.") == file.npos)
    fail("safetensors", name_, " must have a whole model, got one of its shards. Hint: name their folder.");
  SafetensorsIndex index;
  std::set<std::string> names{file};
  if (is_sharded) {
    index = parse_safetensors_index(folder.text(file), name_);
    names.clear();
    for (const auto& [tensor, shard] : index) names.insert(shard);
    for (const std::string& shard : shards_in(folder.folder(), file.substr(0, file.find(".index.json"))))
      if (!names.contains(shard))
        fail("safetensors", name_, ": weight_map must name all shards in the folder, got ",
             files::in_quotes(shard), " besides.");
  }
  for (const std::string& name : names) {
    if (is_sharded && !folder.has(name))
      fail("safetensors", name_, ": weight_map must name files in the folder, got ", files::in_quotes(name),
           ", which is not there.");
    paths_.push_back(folder.folder() / name);
    files_.push_back(open_tensors(paths_.back(), folder.checksum(name), compared));
    const std::string& state = files_.back()->header().state;
    for (const TensorEntry& entry : files_.back()->header().entries) {
      if (!entry.name.starts_with(state)) continue;
      const auto listed = index.find(entry.name);
      if (is_sharded && (listed == index.end() || listed->second != name))
        fail("safetensors", name_, ": weight_map must list the tensors of its files, got ",
             files::in_quotes(entry.name), " of ", files::in_quotes(name), " listed ",
             listed == index.end() ? "nowhere." : concat("in ", files::in_quotes(listed->second), "."));
      entries_.emplace(entry.name.substr(state.size()), &entry);
      file_of_.emplace(entry.name.substr(state.size()), files_.back().get());
    }
  }
  for (const auto& [tensor, shard] : index)
    if (!entries_.contains(tensor))
      fail("safetensors", name_, ": ", files::in_quotes(tensor), " must be in ", files::in_quotes(shard),
           ", as in weight_map, got a file without it.");
}

}  // namespace gradus::nn
