// Files. StagedFile and write_atomically() leave a whole file or none; AppendedFile grows; StableFile reads
// at any offset. Thread-safe, except for two writers of one path.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gradus/files/error.hpp"

namespace gradus::files {

/// A path that cannot be read.
class Unreadable : public Error {
 public:
  /// Reads "[file] cannot read PATH: REASON."
  Unreadable(const std::string& path, std::string reason)
      : Error(concat("[file] cannot read ", path, ": ", reason, ".")), reason_(std::move(reason)) {}
  const std::string& reason() const { return reason_; }  ///< "Permission denied", "it is a folder"

 private:
  std::string reason_;
};

/// A file that was opened, but cannot be read or has changed since.
class ReadFailed : public RunError {
 public:
  using RunError::RunError;
};

/// The checksums of a file, and of its bytes up to the end of each named part.
struct FileChecksum {
  /// A part of the file.
  struct Part {
    std::string name;    ///< for errors
    uint64_t end = 0;    ///< in bytes from the beginning of the file
    uint32_t crc32 = 0;  ///< of all bytes before `end`
    bool operator==(const Part&) const = default;
  };
  uint32_t crc32 = 0;            ///< of the whole file
  std::vector<Part> parts = {};  ///< in their order in the file
  bool operator==(const FileChecksum&) const = default;
};

/// A file descriptor that is closed at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}              ///< -1: none
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}  ///< takes over the other's
  /// Exchanges the numbers.
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor();
  operator int() const { return number_; }              ///< its number
  int release() { return std::exchange(number_, -1); }  ///< releases it without closing it

 private:
  int number_;
};

/// A stream that writes `path`.tmp, which put_in_place() renames to `path`. The destructor removes a
/// temporary file that was not renamed. Other members throw RunError with path and reason.
class StagedFile : public std::ostream {
 public:
  /// Makes `path`.tmp, replacing an older one. Does not follow a link of that name.
  explicit StagedFile(std::filesystem::path path);
  ~StagedFile() override;

  /// Ends a named part of the file, for checksum().
  void end_part(std::string name);
  /// Ends writing; all bytes are then on disk.
  void finish();
  /// The checksum of the file, after finish().
  const FileChecksum& checksum() const;
  /// Replaces the file at `path`. The new name survives a power cut only after sync_folder().
  void put_in_place();

  const std::filesystem::path& path() const { return path_; }  ///< the final name
  const std::filesystem::path& temporary() const;              ///< the name until then

 private:
  class Buffer;
  std::filesystem::path path_;
  std::unique_ptr<Buffer> buffer_;
  bool in_place_ = false;
};

/// Replaces the file at `path` by the bytes that `write` writes: to `path`.tmp, which is synced and renamed.
/// After a crash, the file is either the old or the new one. Throws RunError with the path and the system's
/// reason; then, and if `write` throws, the old file stays.
void write_atomically(const std::filesystem::path& path, const std::function<void(std::ostream&)>& write);

/// All bytes of an ordinary file. What a folder of others holds is read by this. Throws Unreadable for pipes
/// and devices, which may have no end.
std::string read(const std::filesystem::path& path);
/// All bytes of what a user names: a file, a pipe (such as a shell's <(command)) or a terminal. Throws
/// Unreadable, also for folders, for devices without an end, and for a named pipe that no program opens for
/// writing within seconds.
std::string read_input(const std::filesystem::path& path);
/// All bytes of the standard input. Throws Unreadable, also for a folder.
std::string read_standard_input();
/// Its next line, without LF; none at the end. Throws as above.
std::optional<std::string> read_standard_line();

/// Describes a file by its first bytes if it is a page of HTML or XML, packed by gzip, or a pointer of Git
/// LFS, with a hint what to do; "" for others.
std::string other_file(std::string_view beginning);

/// Throws Error, naming `op` and its `flag`, unless `path` is new in a folder that exists, or an ordinary
/// file of which is_own(its first 4,096 bytes) is true: files of others are not replaced unasked.
void check_replaceable(std::string_view op, std::string_view flag, const std::filesystem::path& path,
                       const std::function<bool(std::string_view beginning)>& is_own);

/// Renames `from` to `to`, replacing a file of that name. Throws RunError as above.
void replace(const std::filesystem::path& from, const std::filesystem::path& to);
/// Writes the names in a folder to disk, so that they survive a power cut. Throws RunError as above.
void sync_folder(const std::filesystem::path& folder);
/// Makes a folder and its missing parents, which then survive a power cut. Throws RunError as above.
void make_folders(const std::filesystem::path& folder);

/// The absolute path without ".", ".." and a slash at its end: its filename() is the name of the file or
/// folder.
std::filesystem::path absolute_path(const std::filesystem::path& path);

/// A file that grows at its end, without a buffer.
class AppendedFile {
 public:
  /// Makes the file if it is missing. Throws RunError as above, also for a symbolic link.
  explicit AppendedFile(std::filesystem::path path);

  /// Throws RunError as above; a part of the bytes may then be in the file.
  void add(std::string_view bytes);

 private:
  std::filesystem::path path_;
  Descriptor descriptor_;
};

/// A file that is read at any offset while other programs could change it.
///
/// It is not mapped: after truncation or a disk error, an access to mapped memory kills the process (SIGBUS).
/// If the file is replaced under its name, the old one is still read. If it is written to, read() fails.
/// Thread-safe.
class StableFile {
 public:
  /// Opens the path. Throws Unreadable if that fails or it is not an ordinary file.
  explicit StableFile(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }  ///< as given
  int64_t size() const { return size_; }                       ///< in bytes, when it was opened
  /// Whether both are the same file, not one and its replacement.
  bool is(const StableFile& other) const { return device_ == other.device_ && number_ == other.number_; }
  /// Copies `count` bytes from `offset`, within size(). Throws ReadFailed if they cannot be read, or if the
  /// size or the modification time has changed.
  void read(int64_t offset, void* to, int64_t count) const;

 private:
  std::filesystem::path path_;
  Descriptor descriptor_;
  int64_t size_ = 0, modified_ = 0;   // bytes, nanoseconds
  uint64_t device_ = 0, number_ = 0;  // of the inode, which no other file gets while this is open
};

}  // namespace gradus::files
