#include "gradus/cli/info/info_files.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "gradus/cli/program/annexes.hpp"
#include "gradus/cli/program/terminal.hpp"
#include "gradus/cli/program/verbs.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/nn/safetensors.hpp"

namespace gradus::cli {
namespace {

namespace fs = std::filesystem;

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
    listing.metadata.push_back({(shard.empty() ? "" : shard + ": ") + key, "", value});
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

Listing list(const fs::path& file) {
  if (annexes().list)
    if (std::optional<Listing> listing = annexes().list(file)) return std::move(*listing);
  if (file.extension() == ".json") return list_index(file);
  Listing listing;
  add_file(listing, file, "");
  return listing;
}

}  // namespace

constexpr size_t kWidest = 64;  // a column; a name may be longer

int info_of_file(const std::string& path) {
  const Listing listing = list(path);
  const bool has_shards = !listing.entries.empty() && !listing.entries.front().shard.empty();
  std::vector<TableRow> rows{{"tensor", "dtype", "shape", "bytes"}};
  if (has_shards) rows[0].push_back("file");
  uint64_t numbers = 0;
  std::map<std::string, int64_t> dtypes;
  for (const Listing::Entry& entry : listing.entries) {
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
  std::vector<TableRow> typed{{"key", "type", "value"}};
  for (const auto& [key, type, value] : listing.metadata)
    if (type.empty())
      std::cout << fact("metadata", files::plain(key), " = ", files::plain(value));
    else
      typed.push_back({files::plain(key), type, files::plain(value)});
  if (typed.size() > 1) std::cout << table(typed, {}, kWidest);
  return kDone;
}

}  // namespace gradus::cli
