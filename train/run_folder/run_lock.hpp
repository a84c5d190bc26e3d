// RunLock: one run at a time in a folder.
//
// A kernel lock on the file .lock, visible to other processes, and to other machines if the file system has a
// lock server. It ends with the process; the file stays and has no meaning by itself. Readers do not take it.
// Not thread-safe.
#pragma once

#include <filesystem>
#include <string>

namespace gradus::train {

/// Holds the lock until it is destroyed.
class RunLock {
 public:
  /// The name of the file, which names the holder.
  static constexpr const char* kFile = ".lock";

  /// Locks a folder, which must exist. Throws Error if another run, which it names, has the lock, or if the
  /// file is a symbolic link; RunError if the disk refuses.
  explicit RunLock(const std::filesystem::path& folder);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  /// Throws RunError if the locked folder was removed, moved or replaced.
  void check() const;
  /// A line for the user if the file system has no locks, else "".
  const std::string& warning() const { return warning_; }

 private:
  void name_holder(const std::string& holder) const;

  std::filesystem::path folder_, file_;
  int descriptor_;
  std::string warning_;
};

}  // namespace gradus::train
