// Folders whose files change together: the list of checksums of a folder, FolderUpdate, which replaces files,
// and FolderSnapshot, which reads them.
//
// The list is a file of the folder, checksums.sfv, in the format of cksfv and rhash: one line for each file
// with its name and its CRC-32; a comment begins with a semicolon. Comments give the checksum up to named
// places inside a file, and the last comment is the checksum of the list itself.
//
// A crash at any moment leaves files each of which agrees with that list or with the one staged beside it;
// FolderSnapshot reads both. Readers take no lock: read_folder() tries again if files are replaced meanwhile.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"

namespace gradus::files {

/// The name of the list in its folder.
inline constexpr const char* kChecksumList = "checksums.sfv";
/// The next list, while an update replaces files, or after an interrupted update.
inline constexpr const char* kStagedChecksumList = "checksums.sfv.tmp";

/// The checksums of the files of a folder, by file name.
using Checksums = std::map<std::string, FileChecksum>;

/// The text of checksums.sfv.
std::string to_text(const Checksums& checksums);
/// Reads the text that to_text() wrote; errors name `file`. Throws Error for any other text, even if one byte
/// was changed.
Checksums checksums_from_text(std::string_view text, const std::filesystem::path& file);

/// Reads the stream to its end and compares. Throws Error, naming the file and the first part that differs.
void verify(std::istream& stream, const FileChecksum& expected, const std::filesystem::path& file);
/// The same for a file that is in memory.
void verify(std::string_view bytes, const FileChecksum& expected, const std::filesystem::path& file);

/// The files of a folder as one FolderUpdate left them. Each file is checked against the list of checksums
/// before it is used; a folder without a list is read unchecked. Thread-safe: immutable.
class FolderSnapshot {
 public:
  /// The folder as that list describes it; nothing is read yet.
  FolderSnapshot(std::filesystem::path folder, std::optional<Checksums> checksums);

  const std::filesystem::path& folder() const { return folder_; }  ///< as it was given
  /// None for a folder without a list.
  const std::optional<Checksums>& checksums() const { return checksums_; }
  /// The checksum that the list has for a file; null if it has none.
  const FileChecksum* checksum(const std::string& name) const;

  bool has(const std::string& name) const;  ///< whether the file is there, listed or not
  /// A whole file. Throws Error, naming it, if it cannot be read or was changed.
  std::string text(const std::string& name) const;
  /// Reads every file of the list. Throws Error as above.
  void verify_all() const;
  /// The same, but skips files that are missing.
  void verify_those_there() const;

  bool operator==(const FolderSnapshot&) const = default;

 private:
  std::filesystem::path folder_;
  std::optional<Checksums> checksums_;
};

/// New versions of some files of a folder, which replace the old ones together. Not thread-safe; one update
/// at a time may work on a folder.
class FolderUpdate {
 public:
  /// `kept`: the checksums of the files that stay as they are, unless they are written too.
  explicit FolderUpdate(std::filesystem::path folder, Checksums kept = {});

  /// Stages a file of that name with the bytes that `write` puts out. Throws RunError if the disk refuses.
  void write(const std::string& name, const std::function<void(StagedFile&)>& write);
  void write(const std::string& name, std::string_view text);

  /// Replaces all files, with a new list of checksums, which it returns. Throws RunError if the disk refuses;
  /// readers then still find the old files or the new ones.
  const Checksums& commit();
  /// The same for a folder that keeps no list.
  void commit_without_list();

 private:
  void put_in_place();

  std::filesystem::path folder_;
  Checksums checksums_;
  std::vector<std::unique_ptr<StagedFile>> files_;
};

/// The current lists of checksums of a folder: checksums.sfv, and the one staged beside it.
class ChecksumLists {
 public:
  /// Reads both; each may be missing.
  explicit ChecksumLists(const std::filesystem::path& folder);
  /// The folder as checksums.sfv describes it; where the staged list differs and matches the file, as that
  /// describes it. Throws Error if checksums.sfv is damaged.
  FolderSnapshot snapshot() const;
  /// Whether the lists are still the same files, and the entries that they differ in still give `snapshot`.
  bool still_hold(const std::optional<FolderSnapshot>& snapshot) const;

 private:
  /// A list that stays open: a list that replaces it is then another file, even with the same text.
  struct List {
    std::shared_ptr<const StableFile> file;
    std::string text;
  };
  static std::optional<List> list_if_any(const std::filesystem::path& path);
  static bool is_same(const std::optional<List>& a, const std::optional<List>& b);

  std::filesystem::path folder_;
  std::optional<List> current_, staged_;
};

/// Returns read(a snapshot of the folder that locate() names); calls both again if files were replaced
/// meanwhile. Throws what `read` threw if they were not.
template <class Locate, class Read>
auto read_folder_at(Locate&& locate, Read&& read) {
  constexpr int kMostAttempts = 100;  // Each means that a run has saved while this one read.
  for (int attempt = 1;; ++attempt) {
    const std::filesystem::path folder = locate();
    const ChecksumLists lists(folder);
    std::optional<FolderSnapshot> snapshot;
    try {
      snapshot = lists.snapshot();
      return read(*snapshot);
    } catch (const Error&) {
      if ((locate() == folder && lists.still_hold(snapshot)) || attempt == kMostAttempts) throw;
    }
  }
}

/// The same for a folder with a fixed path.
template <class Read>
auto read_folder(const std::filesystem::path& folder, Read&& read) {
  return read_folder_at([&] { return folder; }, read);
}

}  // namespace gradus::files
