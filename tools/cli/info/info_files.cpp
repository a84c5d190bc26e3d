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
#include "gradus/tools/cli/program/shell.hpp"
#include "gradus/tools/cli/program/terminal.hpp"
#include "gradus/tools/cli/program/verbs.hpp"
#include "gradus/tools/gguf/gguf.hpp"

namespace gradus::cli {
namespace {

namespace fs = std::filesystem;

/// A file, or all shards of an index.
struct Listing {
  std::vector<nn::TensorEntry> entries;
  std::vector<std::string> shards;               ///< of each entry; empty for a single file
  std::map<std::string, nn::Metadata> metadata;  ///< by file
  size_t files = 0;
  uint64_t bytes = 0;  ///< of the files
};

/// Returns the names of its tensors.
std::set<std::string> add_file(Listing& listing, const fs::path& file, const std::string& shard) {
  const std::unique_ptr<nn::TensorFile> opened = nn::open_tensors(file);
  std::set<std::string> names;
  for (const nn::TensorEntry& entry : opened->header().entries) {
    listing.entries.push_back(entry);
    listing.shards.push_back(shard);
    names.insert(entry.name);
  }
  if (!opened->header().metadata.empty()) listing.metadata[shard] = opened->header().metadata;
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
  if (file.extension() == ".json") return list_index(file);
  Listing listing;
  add_file(listing, file, "");
  return listing;
}

constexpr uint64_t kShownElements = 4;  // of a list

struct ShownValue {
  std::string operator()(const std::string& text) const { return files::in_quotes(text); }
  std::string operator()(bool flag) const { return flag ? "true" : "false"; }
  std::string operator()(uint8_t number) const { return concat(unsigned{number}); }
  std::string operator()(int8_t number) const { return concat(int{number}); }
  std::string operator()(const gguf::List& list) const {
    std::string text = concat(grouped(static_cast<int64_t>(list.count)), " of ", gguf::name(list.of), ":");
    const uint64_t count = std::min(list.count, kShownElements);
    for (uint64_t i = 0; i < count; ++i) text += concat(i == 0 ? " " : ", ", list.shown(i));
    return list.count > count ? text + ", ..." : text;
  }
  template <class Number>
  std::string operator()(Number number) const {
    return concat(number);
  }
};

constexpr size_t kWidest = 64;  // a column; a name may be longer

std::string shape_text(const std::vector<uint64_t>& shape) {
  return concat("(", joined(shape), shape.size() == 1 ? ",)" : ")");
}

}  // namespace

bool is_tensor_file(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) && !fs::is_directory(path, ignored) &&
         fs::path(path).extension() != ".gguf";
}

int info_of_tensors(const std::string& path) {
  const Listing listing = list(path);
  const bool has_shards = !listing.shards.empty() && !listing.shards.front().empty();
  std::vector<TableRow> rows{{"tensor", "dtype", "shape", "bytes"}};
  if (has_shards) rows[0].push_back("file");
  int64_t numbers = 0;
  std::map<std::string, int64_t> dtypes;
  for (size_t i = 0; i < listing.entries.size(); ++i) {
    const nn::TensorEntry& entry = listing.entries[i];
    rows.push_back({files::plain(entry.name), entry.dtype, concat(entry.shape),
                    grouped(static_cast<int64_t>(entry.end - entry.begin))});
    if (has_shards) rows.back().push_back(files::plain(listing.shards[i]));
    numbers += entry.shape.numel();
    ++dtypes[entry.dtype];
  }
  std::cout << table(rows, {3});
  const std::string kinds = joined(
      dtypes, ", ", [](const auto& dtype) { return concat(grouped(dtype.second), " of ", dtype.first); });
  std::cout << "file        " << files::plain(path) << ", " << grouped(static_cast<int64_t>(listing.bytes))
            << " bytes" << (has_shards ? concat(" in ", listing.files, " shards") : "") << "\n"
            << "tensors     " << grouped(static_cast<int64_t>(listing.entries.size())) << ", "
            << grouped(numbers) << " numbers" << (kinds.empty() ? "" : ": " + kinds) << "\n";
  for (const auto& [shard, metadata] : listing.metadata)
    for (const auto& [key, value] : metadata)
      std::cout << "metadata    " << (shard.empty() ? "" : files::plain(shard) + ": ") << files::plain(key)
                << " = " << files::plain(value) << "\n";
  return kDone;
}

int info_of_gguf(const std::filesystem::path& file, std::optional<int64_t> batch) {
  if (batch) fail("info", "--batch must be left out for a GGUF file, got ", *batch, ".");
  const gguf::Header header = gguf::read_header(file);
  std::vector<TableRow> rows{{"key", "type", "value"}};
  for (const auto& [key, value] : header.keys)
    rows.push_back({files::plain(key), std::string(gguf::name(static_cast<gguf::ValueType>(value.index()))),
                    std::visit(ShownValue{}, value)});
  std::cout << table(rows, {}, kWidest);

  rows = {{"tensor", "type", "shape"}};
  uint64_t numbers = 0, bytes = 0;
  std::map<std::string_view, int64_t> types;
  for (const gguf::Tensor& tensor : header.tensors) {
    rows.push_back({files::plain(tensor.name), std::string(tensor.type.name), shape_text(tensor.shape)});
    numbers += tensor.bytes / tensor.type.bytes * tensor.type.block;
    bytes += tensor.bytes;
    ++types[tensor.type.name];
  }
  std::cout << table(rows, {}, kWidest);
  const auto count_of = [](const auto& type) { return concat(type.second, " ", type.first); };
  std::cout << "file        " << shell_path(file.string()) << ": GGUF, " << header.keys.size() << " keys, "
            << header.tensors.size() << " tensors (" << joined(types, ", ", count_of) << ")\n"
            << "numbers     " << grouped(static_cast<int64_t>(numbers)) << " in "
            << byte_size(static_cast<double>(bytes)) << "\n";
  return kDone;
}

}  // namespace gradus::cli
