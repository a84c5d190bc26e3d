// Folders whose files change together: a list of checksums, FolderUpdate, which replaces files, and
// FolderSnapshot, which reads them.
//
// The list, checksums.sfv, has the format of cksfv and rhash: a line with name and CRC-32 for each file, and
// comments after a semicolon. Comments hold the checksums of parts of files, the last one that of the list.
//
// After a crash each file agrees with this list or with the staged next one; FolderSnapshot reads both.
// Readers take no lock: read_folder() retries if files are replaced meanwhile.
#pragma once

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
/// The next list, during an update or after an interrupted one.
inline constexpr const char* kStagedChecksumList = "checksums.sfv.tmp";

/// The checksums of the files of a folder, by file name.
using Checksums = std::map<std::string, FileChecksum>;

/// The text of checksums.sfv.
std::string to_text(const Checksums& checksums);
/// Reads the text of to_text(). Throws Error, naming `file`, for any other text.
Checksums checksums_from_text(std::string_view text, const std::filesystem::path& file);

/// Reads the stream to its end. Throws Error, naming the file and the first part that differs.
void verify(std::istream& stream, const FileChecksum& expected, const std::filesystem::path& file);
/// The same for a file in memory.
void verify(std::string_view bytes, const FileChecksum& expected, const std::filesystem::path& file);

/// The files of a folder as one FolderUpdate left them. Files are checked against the list of checksums
/// before use; a folder without a list is not checked. Thread-safe: immutable.
class FolderSnapshot {
 public:
  /// Reads nothing yet. `chosen` is the file that the folder was opened by, or "".
  FolderSnapshot(std::filesystem::path folder, std::optional<Checksums> checksums, std::string chosen = {});

  const std::filesystem::path& folder() const { return folder_; }  ///< as given
  const std::string& chosen() const { return chosen_; }            ///< the name of the chosen file, or ""
  /// The list of checksums; none for a folder without a list.
  const std::optional<Checksums>& checksums() const { return checksums_; }
  /// The checksum of a file; null if the list has none.
  const FileChecksum* checksum(const std::string& name) const;

  bool has(const std::string& name) const;  ///< whether the file is there, listed or not
  /// A whole file. Throws Error, naming it, if it cannot be read or has changed.
  std::string text(const std::string& name) const;
  /// Reads every file of the list. Throws Error as above.
  void verify_all() const;
  /// The same, but skips missing files.
  void verify_those_there() const;

  bool operator==(const FolderSnapshot&) const = default;

 private:
  std::filesystem::path folder_;
  std::optional<Checksums> checksums_;
  std::string chosen_;
};

/// New versions of some files of a folder, which replace the old ones together. Not thread-safe; a folder
/// allows one update at a time.
class FolderUpdate {
 public:
  /// `kept`: the checksums of the files that stay unless they are written.
  explicit FolderUpdate(std::filesystem::path folder, Checksums kept = {});

  /// Stages a file with the bytes that `write` writes. Throws RunError if that fails.
  void write(const std::string& name, const std::function<void(StagedFile&)>& write);
  void write(const std::string& name, std::string_view text);

  /// Replaces all files, and the list of checksums by a new one, which it returns. Throws RunError if that
  /// fails; readers then find the old files or the new ones.
  const Checksums& commit();
  /// The same for a folder that keeps no list.
  void commit_without_list();

 private:
  void put_in_place();

  std::filesystem::path folder_;
  Checksums checksums_;
  std::vector<std::unique_ptr<StagedFile>> files_;
};

/// The lists of checksums of a folder: checksums.sfv and the staged one.
class ChecksumLists {
 public:
  /// Reads both; each may be missing. `folder` may be a file, which chooses itself in its folder.
  explicit ChecksumLists(const std::filesystem::path& folder);
  /// The folder by checksums.sfv, or by the staged list for files that match only that. Throws Error if
  /// checksums.sfv is damaged.
  FolderSnapshot snapshot() const;
  /// Whether the lists are still the same files and still give `snapshot`.
  bool still_hold(const std::optional<FolderSnapshot>& snapshot) const;

 private:
  /// A list that stays open, so that its replacement is another file even with the same text.
  struct List {
    std::shared_ptr<const StableFile> file;
    std::string text;
  };
  static std::optional<List> list_if_any(const std::filesystem::path& path);
  static bool is_same(const std::optional<List>& a, const std::optional<List>& b);

  std::filesystem::path path_, folder_;
  std::optional<List> current_, staged_;
};

/// Returns read(a snapshot of the folder locate()); calls both again if files were replaced during `read`.
template <class Locate, class Read>
auto read_folder_at(Locate&& locate, Read&& read) {
  constexpr int kMostAttempts = 100;
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

/// The same for a folder with a fixed path, or for a file and the folder that it is in.
template <class Read>
auto read_folder(const std::filesystem::path& folder, Read&& read) {
  return read_folder_at([&] { return folder; }, read);
}

}  // namespace gradus::files
