// FolderSnapshot: the files of a folder as one FolderUpdate left them, each checked against the folder's list
// of checksums before it is used. A folder without a list is read as it is.
//
// Readers take no lock: read_folder() tries again if somebody replaces files under its hands. Thread-safe:
// immutable.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "gradus/files/checksums.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/stable_file.hpp"

namespace gradus::files {

class FolderSnapshot {
 public:
  /// The folder as that list describes it; nothing is read yet.
  FolderSnapshot(std::filesystem::path folder, std::optional<Checksums> checksums);

  const std::filesystem::path& folder() const { return folder_; }  ///< as it was given
  /// None for a folder without a list.
  const std::optional<Checksums>& checksums() const { return checksums_; }
  /// What the list says of a file; null if nothing.
  const FileChecksum* checksum(const std::string& name) const;

  bool has(const std::string& name) const;  ///< whether the file is there, listed or not
  /// A whole file. Throws Error, naming it, if it cannot be read or was changed.
  std::string text(const std::string& name) const;
  /// Reads every file of the list. Throws Error as above.
  void verify_all() const;
  /// The same, but does not mind files that are missing.
  void verify_those_there() const;

  bool operator==(const FolderSnapshot&) const = default;

 private:
  std::filesystem::path folder_;
  std::optional<Checksums> checksums_;
};

/// The lists of checksums of a folder, as they are now: checksums.sfv, and the one staged beside it.
class ChecksumLists {
 public:
  /// Reads both, of which each may be missing.
  explicit ChecksumLists(const std::filesystem::path& folder);
  /// The folder by checksums.sfv; where that differs from the staged list, by the one that describes the
  /// file. Throws Error if checksums.sfv is damaged.
  FolderSnapshot snapshot() const;
  /// Are the lists still the same files, and do those that they differ about still say the same?
  bool still_hold(const std::optional<FolderSnapshot>& snapshot) const;

 private:
  /// A list that stays open: one that replaces it is then another file, even if it says the same again.
  struct List {
    std::shared_ptr<const StableFile> file;
    std::string text;
  };
  static std::optional<List> list_if_any(const std::filesystem::path& path);
  static bool is_same(const std::optional<List>& a, const std::optional<List>& b);

  std::filesystem::path folder_;
  std::optional<List> current_, staged_;
};

/// What `read` returns for a snapshot of the folder that `locate()` names; both are called again if files
/// were replaced meanwhile. Throws what `read` threw if they were not.
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

/// The same for a folder that stays where it is.
template <class Read>
auto read_folder(const std::filesystem::path& folder, Read&& read) {
  return read_folder_at([&] { return folder; }, read);
}

}  // namespace gradus::files
