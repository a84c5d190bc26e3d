#include "gradus/tools/cli/info/info_files.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/nn/safetensors.hpp"
#include "gradus/tools/cli/program/terminal.hpp"
#include "gradus/tools/cli/program/verbs.hpp"
#include "gradus/tools/gguf/gguf.hpp"

namespace gradus::cli {
namespace {

namespace fs = std::filesystem;

struct Entry {
  std::string name, dtype, shape, shard;  ///< shard: its file; empty for a single one
  uint64_t numbers, bytes;
};

/// A file, or all shards of an index.
struct Listing {
  std::vector<Entry> entries;
  std::vector<std::pair<std::string, std::string>> metadata;
  size_t files = 0;
  uint64_t bytes = 0;  ///< of the files
};

/// Returns the names of its tensors.
std::set<std::string> add_file(Listing& listing, const fs::path& file, const std::string& shard) {
  const std::unique_ptr<nn::TensorFile> opened = nn::open_tensors(file);
  std::set<std::string> names;
  for (const nn::TensorEntry& entry : opened->header().entries) {
    listing.entries.push_back({entry.name, entry.dtype, concat(entry.shape), shard,
                               static_cast<uint64_t>(entry.shape.numel()), entry.end - entry.begin});
    names.insert(entry.name);
  }
  for (const auto& [key, value] : opened->header().metadata)
    listing.metadata.emplace_back((shard.empty() ? "" : shard + ": ") + key, value);
  ++listing.files;
  listing.bytes += fs::file_size(file);
  return names;
}

Listing list_index(const fs::path& file) {
  const nn::SafetensorsIndex index = nn::parse_safetensors_index(files::read(file), file.string());
  std::map<std::string, std::set<std::string>> tensors;  // by shard
  for (const auto& [tensor, shard] : index) tensors[shard].insert(tensor);
  Listing listing;
  for (const auto& [shard, listed] : tensors)
    if (add_file(listing, file.parent_path() / shard, shard) != listed)
      fail("info", file, " must list the tensors that its files hold, got others for ",
           files::in_quotes(shard), ".");
  return listing;
}

struct ShownValue {
  std::string operator()(const std::string& text) const { return files::in_quotes(text); }
  std::string operator()(bool flag) const { return flag ? "true" : "false"; }
  std::string operator()(uint8_t number) const { return concat(unsigned{number}); }
  std::string operator()(int8_t number) const { return concat(int{number}); }
  std::string operator()(const gguf::List& list) const {
    std::string text = concat(grouped(static_cast<int64_t>(list.count)), " of ", gguf::name(list.of), ":");
    const uint64_t count = std::min(list.count, uint64_t{4});
    for (uint64_t i = 0; i < count; ++i) text += concat(i == 0 ? " " : ", ", list.shown(i));
    return list.count > count ? text + ", ..." : text;
  }
  template <class Number>
  std::string operator()(Number number) const {
    return concat(number);
  }
};

Listing list_gguf(const fs::path& file) {
  const gguf::Header header = gguf::read_header(file);
  Listing listing;
  for (const gguf::Tensor& tensor : header.tensors)
    listing.entries.push_back({tensor.name, std::string(tensor.type.name),
                               concat("(", joined(tensor.shape), tensor.shape.size() == 1 ? ",)" : ")"), "",
                               tensor.bytes / tensor.type.bytes * tensor.type.block, tensor.bytes});
  for (const auto& [key, value] : header.keys)
    listing.metadata.emplace_back(
        concat(key, " (", gguf::name(static_cast<gguf::ValueType>(value.index())), ")"),
        std::visit(ShownValue{}, value));
  listing.files = 1;
  listing.bytes = fs::file_size(file);
  return listing;
}

Listing list(const fs::path& file) {
  if (gguf::is_gguf(file)) return list_gguf(file);
  if (file.extension() == ".json") return list_index(file);
  Listing listing;
  add_file(listing, file, "");
  return listing;
}

}  // namespace

int info_of_file(const std::string& path) {
  const Listing listing = list(path);
  const bool has_shards = !listing.entries.empty() && !listing.entries.front().shard.empty();
  std::vector<TableRow> rows{{"tensor", "dtype", "shape", "bytes"}};
  if (has_shards) rows[0].push_back("file");
  uint64_t numbers = 0;
  std::map<std::string, int64_t> dtypes;
  for (const Entry& entry : listing.entries) {
    rows.push_back(
        {files::plain(entry.name), entry.dtype, entry.shape, grouped(static_cast<int64_t>(entry.bytes))});
    if (has_shards) rows.back().push_back(files::plain(entry.shard));
    numbers += entry.numbers;
    ++dtypes[entry.dtype];
  }
  const std::string kinds = joined(
      dtypes, ", ", [](const auto& dtype) { return concat(grouped(dtype.second), " of ", dtype.first); });
  std::cout << table(rows, {3})
            << fact("file", files::plain(path), ", ", grouped(static_cast<int64_t>(listing.bytes)), " bytes",
                    has_shards ? concat(" in ", listing.files, " shards") : "")
            << fact("tensors", grouped(std::ssize(listing.entries)), ", ",
                    grouped(static_cast<int64_t>(numbers)), " numbers", kinds.empty() ? "" : ": ", kinds);
  for (const auto& [key, value] : listing.metadata)
    std::cout << fact("metadata", files::plain(key), " = ", files::plain(value));
  return kDone;
}

}  // namespace gradus::cli
