// RunLock: one run at a time in a folder.
//
// A lock of the kernel on the file .lock, which other processes see too, and other machines where the file
// system takes locks to its server. It ends with the process, however that ends; the file stays and means
// nothing by itself. Readers of a folder do not take it. Not thread-safe.
#pragma once

#include <filesystem>
#include <string>

namespace gradus::train {

/// Holds the lock for as long as it lives.
class RunLock {
 public:
  /// The name of the file, which says who has the lock.
  static constexpr const char* kFile = ".lock";

  /// Takes the lock of a folder that is there. Throws Error, saying who has it, if another run does, and
  /// if the file is a symbolic link; RunError if the disk refuses.
  explicit RunLock(const std::filesystem::path& folder);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  /// Throws RunError if the folder is no longer the one that was locked: removed, moved or made anew.
  void check() const;
  /// One line for the user if the file system has no locks, else "".
  const std::string& warning() const { return warning_; }

 private:
  void name_holder(const std::string& holder) const;

  std::filesystem::path folder_, file_;
  int descriptor_;
  std::string warning_;
};

}  // namespace gradus::train
