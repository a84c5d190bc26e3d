// StableFile: a file that is read here and there while others could change it.
//
// It is read, not mapped: where a file is cut short under a mapping, touching what is gone kills the process
// (SIGBUS), and so does a disk that fails; a read says so. The system's cache serves both alike. If the
// file is replaced under its name, the old one is still read. If it is written to, read() fails.
//
// Thread-safe once made.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "gradus/files/error.hpp"

namespace gradus::files {

/// A file that could be opened, and cannot be read as it was then.
class ReadFailed : public RunError {
 public:
  using RunError::RunError;
};

class StableFile {
 public:
  /// Opens it. Throws Unreadable if it cannot be, or is no ordinary file: what comes through a pipe can be
  /// read once only.
  explicit StableFile(std::filesystem::path path);
  ~StableFile();
  StableFile(const StableFile&) = delete;
  StableFile& operator=(const StableFile&) = delete;

  const std::filesystem::path& path() const { return path_; }  ///< as it was given
  int64_t size() const { return size_; }                       ///< bytes, when it was opened
  /// Whether both are open on one and the same file, and not on one that has replaced it.
  bool is(const StableFile& other) const { return device_ == other.device_ && number_ == other.number_; }
  /// Copies `count` bytes from `offset` on, which lie within size(). Throws ReadFailed if they cannot be read
  /// or the file was changed, by its size or time of modification.
  void read(int64_t offset, void* to, int64_t count) const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  int64_t size_ = 0, modified_ = 0;   // bytes, nanoseconds
  uint64_t device_ = 0, number_ = 0;  // of its inode, which no other file gets while this is open
};

}  // namespace gradus::files
