#include "gradus/files/folder.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>

#include "gradus/files/hashes.hpp"

namespace gradus::files {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTitle =
    "; CRC-32 of each file, and of its beginning up to the end of each part\n";
constexpr std::string_view kPart = ";   ";
constexpr std::string_view kHint =
    " Hint: take it from a copy; if it was changed on purpose, remove checksums.sfv next to it.";

std::string last_line(std::string_view above) {
  return concat("; ", hex32(crc32(above)), " is the CRC-32 of the lines above\n");
}

/// A name without line breaks.
std::string on_one_line(std::string name) {
  for (char& c : name)
    if (static_cast<unsigned char>(c) < 0x20) c = '?';
  return name;
}

/// Reads a file by read(the most bytes) and throws at the first part that differs.
template <class Read>
void verify_pieces(Read&& read, const FileChecksum& expected, const fs::path& file) {
  uint32_t crc = 0;
  uint64_t size = 0;
  const auto read_to = [&](uint64_t end) {
    for (std::string_view piece; size < end && !(piece = read(end - size)).empty(); size += piece.size())
      crc = crc32(piece, crc);
  };
  const auto check = [&](bool is_same, const std::string& where) {
    if (!is_same)
      fail("checksum", file.string(), " must have the bytes that were saved, got others", where, ".", kHint);
  };
  for (const FileChecksum::Part& part : expected.parts) {
    read_to(part.end);
    check(size == part.end && crc == part.crc32, " in " + part.name);
  }
  read_to(std::numeric_limits<uint64_t>::max());
  check(crc == expected.crc32, "");
}

/// Reads the text of to_text(). Accepts other texts too: the caller compares the result's text.
Checksums parse(std::string_view text) {
  Checksums checksums;
  std::istringstream lines{std::string(text)};
  FileChecksum* file = nullptr;
  for (std::string line; std::getline(lines, line);) {
    if (file && line.starts_with(kPart)) {
      std::istringstream words(line.substr(kPart.size()));
      FileChecksum::Part part;
      words >> part.end >> std::hex >> part.crc32;
      words.ignore();
      std::getline(words, part.name);
      file->parts.push_back(std::move(part));
    } else if (const size_t space = line.rfind(' '); !line.starts_with(';') && space != line.npos) {
      file = &checksums[line.substr(0, space)];
      std::istringstream(line.substr(space + 1)) >> std::hex >> file->crc32;
    }
  }
  return checksums;
}

/// The checksums of a staged list; none if it is incomplete.
Checksums checksums_if_whole(std::string_view text) {
  try {
    return checksums_from_text(text, "");
  } catch (const Error&) {
    return {};
  }
}

/// The folder itself, or that of a file.
fs::path folder_of(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return path;
  return path.has_parent_path() ? path.parent_path() : ".";
}

bool is_described(const fs::path& file, const FileChecksum& checksum) {
  try {
    if (!fs::is_regular_file(file)) return false;  // opening a pipe would wait for a writer
    std::ifstream stream(file, std::ios::binary);
    verify(stream, checksum, file);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::string to_text(const Checksums& checksums) {
  std::string text(kTitle);
  for (const auto& [name, file] : checksums) {
    text += concat(on_one_line(name), " ", hex32(file.crc32), "\n");
    for (const FileChecksum::Part& part : file.parts)
      text += concat(kPart, part.end, " ", hex32(part.crc32), " ", on_one_line(part.name), "\n");
  }
  return text + last_line(text);
}

Checksums checksums_from_text(std::string_view text, const fs::path& file) {
  Checksums checksums = parse(text);
  const auto leads_away = [](const auto& entry) { return entry.first.find('/') != std::string::npos; };
  if (to_text(checksums) != text || std::ranges::any_of(checksums, leads_away))
    fail("checksum", file.string(), " must be the list that was saved, got another.", kHint);
  return checksums;
}

void verify(std::istream& stream, const FileChecksum& expected, const fs::path& file) {
  std::vector<char> piece(1 << 20);
  const auto read = [&](uint64_t most) -> std::string_view {
    stream.read(piece.data(), static_cast<std::streamsize>(std::min<uint64_t>(most, piece.size())));
    if (stream.bad()) fail("checksum", file.string(), " must be readable, got an error of the disk.");
    return {piece.data(), static_cast<size_t>(stream.gcount())};
  };
  verify_pieces(read, expected, file);
}

void verify(std::string_view bytes, const FileChecksum& expected, const fs::path& file) {
  const auto read = [&](uint64_t most) {
    const std::string_view piece = bytes.substr(0, most);
    bytes.remove_prefix(piece.size());
    return piece;
  };
  verify_pieces(read, expected, file);
}

FolderSnapshot::FolderSnapshot(fs::path folder, std::optional<Checksums> checksums, std::string chosen)
    : folder_(std::move(folder)), checksums_(std::move(checksums)), chosen_(std::move(chosen)) {}

const FileChecksum* FolderSnapshot::checksum(const std::string& name) const {
  if (!checksums_) return nullptr;
  const auto found = checksums_->find(name);
  return found == checksums_->end() ? nullptr : &found->second;
}

// A link to nothing is there, and an error when it is read.
bool FolderSnapshot::has(const std::string& name) const {
  return fs::exists(fs::symlink_status(folder_ / name));
}

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
  } catch (const Error&) {  // A staged list may have been renamed meanwhile.
    if (is_missing()) return {};
    throw;
  }
}

bool ChecksumLists::is_same(const std::optional<List>& a, const std::optional<List>& b) {
  if (!a || !b) return !a && !b;
  return a->file->is(*b->file) && a->text == b->text;
}

ChecksumLists::ChecksumLists(const fs::path& path)
    : path_(path),
      folder_(folder_of(path)),
      current_(list_if_any(folder_ / kChecksumList)),
      staged_(list_if_any(folder_ / kStagedChecksumList)) {}

FolderSnapshot ChecksumLists::snapshot() const {
  const std::string chosen = folder_ == path_ ? "" : path_.filename().string();
  if (!current_) return {folder_, {}, chosen};
  Checksums checksums = checksums_from_text(current_->text, folder_ / kChecksumList);
  // An update is running, or one was interrupted.
  if (staged_)
    for (const auto& [name, staged] : checksums_if_whole(staged_->text)) {
      const auto current = checksums.find(name);
      if (current != checksums.end() && current->second == staged) continue;
      if (is_described(folder_ / name, staged)) checksums[name] = staged;
    }
  return {folder_, std::move(checksums), chosen};
}

bool ChecksumLists::still_hold(const std::optional<FolderSnapshot>& snapshot) const {
  const ChecksumLists now(path_);
  if (!is_same(now.current_, current_) || !is_same(now.staged_, staged_)) return false;
  return !snapshot || now.snapshot() == *snapshot;
}

FolderUpdate::FolderUpdate(fs::path folder, Checksums kept)
    : folder_(std::move(folder)), checksums_(std::move(kept)) {}

void FolderUpdate::write(const std::string& name, const std::function<void(StagedFile&)>& write) {
  auto file = std::make_unique<StagedFile>(folder_ / name);
  write(*file);
  file->finish();
  checksums_[name] = file->checksum();
  files_.push_back(std::move(file));
}

void FolderUpdate::write(const std::string& name, std::string_view text) {
  write(name, [&](StagedFile& file) { file << text; });
}

const Checksums& FolderUpdate::commit() {
  // The new list must be on disk before any file that only it describes. It stays if a later write fails;
  // until it is written, the staged list of an interrupted earlier update stays.
  const fs::path staged = folder_ / kStagedChecksumList;
  write_atomically(staged, [&](std::ostream& out) { out << to_text(checksums_); });
  put_in_place();
  replace(staged, folder_ / kChecksumList);
  sync_folder(folder_);
  return checksums_;
}

void FolderUpdate::commit_without_list() {
  put_in_place();
  sync_folder(folder_);
}

void FolderUpdate::put_in_place() {
  for (const auto& file : files_) file->put_in_place();
  files_.clear();
}

}  // namespace gradus::files
