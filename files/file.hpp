// Files that are either whole or not there. Thread-safe, but for two writers of one path.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>

#include "gradus/files/checksums.hpp"

namespace gradus::files {

/// A file on its way: what is written to this stream goes to `path`.tmp, and stands under its own name once
/// it is put in place. Removes the temporary file if it is not. All but the destructor throw RunError with
/// the path and the system's reason.
class StagedFile : public std::ostream {
 public:
  /// Makes `path`.tmp; what an earlier one left there is gone. A link there is removed, not followed.
  explicit StagedFile(std::filesystem::path path);
  ~StagedFile() override;

  /// Ends a part of the file, for its checksum.
  void end_part(std::string name);
  /// No more is written; what was is on disk.
  void finish();
  /// Of all that was written, once it is finished.
  const FileChecksum& checksum() const;
  /// Replaces the file at `path`. It survives a power cut after sync_folder() only.
  void put_in_place();

  const std::filesystem::path& path() const { return path_; }  ///< the name it will have

 private:
  class Buffer;
  std::filesystem::path path_;
  std::unique_ptr<Buffer> buffer_;
  bool in_place_ = false;
};

/// Replaces the file at `path` by what `write` puts out, so that after a crash at any moment either the old
/// file or the new one is there: written to `path`.tmp beside it, fsynced, renamed, the folder fsynced.
/// Throws RunError with the path and the system's reason; then, and if `write` throws, the old file is
/// untouched and the temporary one removed.
void write_atomically(const std::filesystem::path& path, const std::function<void(std::ostream&)>& write);

/// The whole file, or all that comes through a pipe. Throws Unreadable with the path and the reason if it
/// cannot be read (see Input).
std::string read(const std::filesystem::path& path);

/// Gives the file `from` the name `to`, in place of what has it; as put_in_place() does. Throws RunError as
/// above.
void replace(const std::filesystem::path& from, const std::filesystem::path& to);
/// Makes the names in a folder survive a power cut. Throws RunError as above.
void sync_folder(const std::filesystem::path& folder);
/// Makes a folder, and those above it that are missing, so that they survive a power cut. Throws RunError as
/// above.
void make_folders(const std::filesystem::path& folder);

/// A file that grows at its end; what is added is handed to the system at once.
class AppendedFile {
 public:
  /// Makes the file if it is not there. Throws RunError as above, for a symbolic link too.
  explicit AppendedFile(std::filesystem::path path);
  ~AppendedFile();
  AppendedFile(const AppendedFile&) = delete;
  AppendedFile& operator=(const AppendedFile&) = delete;

  /// Throws RunError as above; a part may then have been added.
  void add(std::string_view bytes);

 private:
  std::filesystem::path path_;
  int descriptor_;
};

}  // namespace gradus::files
