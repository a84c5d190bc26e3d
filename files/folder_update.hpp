// FolderUpdate: new versions of some files of a folder, which take their places together.
//
// The folder keeps a list of checksums (checksums.hpp). A crash at any moment leaves files that agree with
// that list or, each for itself, with the one staged beside it; FolderSnapshot, the reader, knows both. Not
// thread-safe; one update at a time may work on a folder.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/files/checksums.hpp"
#include "gradus/files/file.hpp"

namespace gradus::files {

class FolderUpdate {
 public:
  /// `kept`: the checksums of the files that stay as they are, if they are replaced again.
  explicit FolderUpdate(std::filesystem::path folder, Checksums kept = {});

  /// Stages a file of that name, as `write` puts it out. Throws RunError if the disk refuses.
  void write(const std::string& name, const std::function<void(StagedFile&)>& write);
  void write(const std::string& name, std::string_view text);

  /// Puts all files in their places, with a new list of checksums, which it returns. Throws RunError if the
  /// disk refuses; readers then still find the old files or the new ones.
  const Checksums& commit();
  /// The same for a folder that keeps no list.
  void commit_without_list();

 private:
  void put_in_place();

  std::filesystem::path folder_;
  Checksums checksums_;
  std::vector<std::unique_ptr<StagedFile>> files_;
};

}  // namespace gradus::files
