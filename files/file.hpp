// Writing and reading files: StagedFile and write_atomically(), which leave a whole file or none;
// AppendedFile; Input, for files and pipes that are read once; StableFile, for reads at any offset.
// Thread-safe, except for two writers of one path.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gradus/files/error.hpp"

namespace gradus::files {

/// A path that cannot be read, with the reason: "Permission denied", "it is a folder".
class Unreadable : public Error {
 public:
  /// Reads "[file] cannot read PATH: REASON."
  Unreadable(const std::string& path, std::string reason)
      : Error(concat("[file] cannot read ", path, ": ", reason, ".")), reason_(std::move(reason)) {}
  const std::string& reason() const { return reason_; }  ///< without path and full stop

 private:
  std::string reason_;
};

/// A file that was opened, but cannot be read or has changed since.
class ReadFailed : public RunError {
 public:
  using RunError::RunError;
};

/// The checksum of a file, and of its beginning up to the end of each named part.
struct FileChecksum {
  /// A beginning of the file.
  struct Part {
    std::string name;    ///< of the part that ends there, for errors
    uint64_t end = 0;    ///< bytes from the beginning of the file
    uint32_t crc32 = 0;  ///< of all bytes before `end`
    bool operator==(const Part&) const = default;
  };
  uint32_t crc32 = 0;            ///< of the whole file
  std::vector<Part> parts = {};  ///< in their order in the file
  bool operator==(const FileChecksum&) const = default;
};

/// A stream that writes `path`.tmp, which put_in_place() renames to `path`. The destructor removes the
/// temporary file if that was not called. All members but the destructor throw RunError with the path and the
/// system's reason.
class StagedFile : public std::ostream {
 public:
  /// Makes `path`.tmp, in place of an older one. A link of that name is removed, not followed.
  explicit StagedFile(std::filesystem::path path);
  ~StagedFile() override;

  /// Ends a named part of the file: the checksum() has an entry for it.
  void end_part(std::string name);
  /// Ends the writing; all bytes are then on disk.
  void finish();
  /// The checksum of the file, after finish().
  const FileChecksum& checksum() const;
  /// Replaces the file at `path`. The new name survives a power cut only after sync_folder().
  void put_in_place();

  const std::filesystem::path& path() const { return path_; }  ///< the name it will have

 private:
  class Buffer;
  std::filesystem::path path_;
  std::unique_ptr<Buffer> buffer_;
  bool in_place_ = false;
};

/// Replaces the file at `path` by the bytes that `write` puts out, so that after a crash at any moment either
/// the old file or the new one is there: written to `path`.tmp beside it, fsynced, renamed, the folder
/// fsynced. Throws RunError with the path and the system's reason; then, and if `write` throws, the old file
/// is untouched and the temporary one removed.
void write_atomically(const std::filesystem::path& path, const std::function<void(std::ostream&)>& write);

/// All bytes of a file or a pipe. Throws Unreadable with the path and the reason if it
/// cannot be read (see Input).
std::string read(const std::filesystem::path& path);

/// Renames `from` to `to`, replacing a file of that name. Throws RunError as above.
void replace(const std::filesystem::path& from, const std::filesystem::path& to);
/// Makes the names in a folder survive a power cut. Throws RunError as above.
void sync_folder(const std::filesystem::path& folder);
/// Makes a folder, and those above it that are missing, so that they survive a power cut. Throws RunError as
/// above.
void make_folders(const std::filesystem::path& folder);

/// A file that grows at its end; added bytes are handed to the system at once.
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

/// The bytes of a file, of a pipe (a shell's <(command) is one) or of a terminal. Not thread-safe.
class Input {
 public:
  /// Opens it without waiting for a writer. Throws Unreadable, also for folders and devices, which have no
  /// end.
  explicit Input(const std::filesystem::path& path);
  ~Input();
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  /// All bytes. Throws Unreadable, also for a named pipe that no program opens for writing within seconds.
  std::string read_all();

 private:
  [[noreturn]] void refuse(const std::string& why) const;
  bool wait(int milliseconds) const;

  std::string path_;
  int descriptor_ = -1;
  bool is_pipe_ = false;
};

/// A file that is read at several places while other programs could change it.
///
/// It is read, not mapped: if a mapped file is cut short, or its disk fails, an access kills the process
/// (SIGBUS), while a read returns an error. If the file is replaced under its name, the old one is still
/// read. If it is written to, read() fails. Thread-safe once made.
class StableFile {
 public:
  /// Opens it. Throws Unreadable if that fails or it is no ordinary file: a pipe can be read only once.
  explicit StableFile(std::filesystem::path path);
  ~StableFile();
  StableFile(const StableFile&) = delete;
  StableFile& operator=(const StableFile&) = delete;

  const std::filesystem::path& path() const { return path_; }  ///< as it was given
  int64_t size() const { return size_; }                       ///< bytes, when it was opened
  /// Whether both have the same file open, rather than one and its replacement.
  bool is(const StableFile& other) const { return device_ == other.device_ && number_ == other.number_; }
  /// Copies `count` bytes from `offset` on, which must lie within size(). Throws ReadFailed if they cannot be
  /// read, or if the file's size or time of modification has changed.
  void read(int64_t offset, void* to, int64_t count) const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  int64_t size_ = 0, modified_ = 0;   // bytes, nanoseconds
  uint64_t device_ = 0, number_ = 0;  // of its inode, which no other file gets while this is open
};

}  // namespace gradus::files
