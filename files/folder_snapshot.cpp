#include "gradus/files/folder_snapshot.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "gradus/files/file.hpp"

namespace gradus::files {
namespace {

namespace fs = std::filesystem;

/// Of a staged list that may not have been finished; then none.
Checksums checksums_if_whole(std::string_view text) {
  try {
    return checksums_from_text(text, "");
  } catch (const Error&) {
    return {};
  }
}

bool is_described(const fs::path& file, const FileChecksum& checksum) {
  try {
    if (!fs::is_regular_file(file)) return false;  // To open a pipe would wait for its writer.
    std::ifstream stream(file, std::ios::binary);
    verify(stream, checksum, file);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

FolderSnapshot::FolderSnapshot(fs::path folder, std::optional<Checksums> checksums)
    : folder_(std::move(folder)), checksums_(std::move(checksums)) {}

const FileChecksum* FolderSnapshot::checksum(const std::string& name) const {
  if (!checksums_) return nullptr;
  const auto found = checksums_->find(name);
  return found == checksums_->end() ? nullptr : &found->second;
}

bool FolderSnapshot::has(const std::string& name) const { return fs::exists(folder_ / name); }

std::string FolderSnapshot::text(const std::string& name) const {
  std::string text = read(folder_ / name);
  if (const FileChecksum* expected = checksum(name)) verify(text, *expected, folder_ / name);
  return text;
}

void FolderSnapshot::verify_all() const {
  if (!checksums_) return;
  for (const auto& [name, expected] : *checksums_)
    if (!has(name)) fail("checksum", (folder_ / name).string(), " must be there, got no such file.");
  verify_those_there();
}

void FolderSnapshot::verify_those_there() const {
  if (!checksums_) return;
  for (const auto& [name, expected] : *checksums_) {
    const fs::path file = folder_ / name;
    if (!has(name)) continue;
    if (!fs::is_regular_file(file)) fail("checksum", file.string(), " must be a file, got something else.");
    std::ifstream stream(file, std::ios::binary);
    if (!stream) fail("checksum", file.string(), " must be readable, got '", std::strerror(errno), "'.");
    verify(stream, expected, file);
  }
}

std::optional<ChecksumLists::List> ChecksumLists::list_if_any(const fs::path& path) {
  const auto is_missing = [&] {
    return ::access(path.c_str(), F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR);
  };
  if (is_missing()) return {};
  try {
    List list{std::make_shared<StableFile>(path), {}};
    list.text.resize(static_cast<size_t>(list.file->size()));
    list.file->read(0, list.text.data(), list.file->size());
    return list;
  } catch (const Error&) {  // A list that is staged may have been put in its place since.
    if (is_missing()) return {};
    throw;
  }
}

bool ChecksumLists::is_same(const std::optional<List>& a, const std::optional<List>& b) {
  if (!a || !b) return !a && !b;
  return a->file->is(*b->file) && a->text == b->text;
}

ChecksumLists::ChecksumLists(const fs::path& folder)
    : folder_(folder),
      current_(list_if_any(folder / kChecksumList)),
      staged_(list_if_any(folder / kStagedChecksumList)) {}

FolderSnapshot ChecksumLists::snapshot() const {
  if (!current_) return {folder_, {}};
  Checksums checksums = checksums_from_text(current_->text, folder_ / kChecksumList);
  // Either an update is at work, or one was cut off.
  if (staged_)
    for (const auto& [name, staged] : checksums_if_whole(staged_->text)) {
      const auto current = checksums.find(name);
      if (current != checksums.end() && current->second == staged) continue;
      if (is_described(folder_ / name, staged)) checksums[name] = staged;
    }
  return {folder_, std::move(checksums)};
}

bool ChecksumLists::still_hold(const std::optional<FolderSnapshot>& snapshot) const {
  const ChecksumLists now(folder_);
  if (!is_same(now.current_, current_) || !is_same(now.staged_, staged_)) return false;
  return !snapshot || now.snapshot() == *snapshot;
}

}  // namespace gradus::files
