#include "gradus/cli/info/info_files.hpp"

#include <filesystem>
#include <iostream>
#include <map>
#include <vector>

#include "gradus/cli/program/annexes.hpp"
#include "gradus/cli/program/terminal.hpp"
#include "gradus/cli/program/verbs.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/folder.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/nn/safetensors.hpp"

namespace gradus::cli {
namespace {

namespace fs = std::filesystem;

void add_file(Listing& listing, const fs::path& path, const nn::TensorHeader& header,
              const std::string& shard) {
  for (const nn::TensorEntry& entry : header.entries)
    listing.entries.push_back({entry.name, entry.dtype, concat(entry.shape), shard,
                               static_cast<uint64_t>(entry.shape.numel()), entry.end - entry.begin});
  for (const auto& [key, value] : header.metadata)
    listing.metadata.push_back({(shard.empty() ? "" : shard + ": ") + key, "", value});
  ++listing.files;
  listing.bytes += fs::file_size(path);
}

Listing list(const fs::path& file) {
  if (annexes().list)
    if (std::optional<Listing> listing = annexes().list(file)) return std::move(*listing);
  Listing listing;
  if (file.extension() != ".json") {
    add_file(listing, file, nn::open_tensors(file)->header(), "");
    return listing;
  }
  const nn::TensorFolder shards(files::FolderSnapshot(file.parent_path(), {}, file.filename().string()));
  for (size_t i = 0; i < shards.paths().size(); ++i)
    add_file(listing, shards.paths()[i], shards.header(i), shards.paths()[i].filename().string());
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
