// Input: the bytes of a file, of a pipe (a shell's <(command) is one) or of a terminal. Not thread-safe.
#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "gradus/files/error.hpp"

namespace gradus::files {

/// A path that cannot be read, and why not: "Permission denied", "it is a folder".
class Unreadable : public Error {
 public:
  /// Reads "[file] cannot read PATH: REASON."
  Unreadable(const std::string& path, std::string reason)
      : Error(concat("[file] cannot read ", path, ": ", reason, ".")), reason_(std::move(reason)) {}
  const std::string& reason() const { return reason_; }  ///< without path and full stop

 private:
  std::string reason_;
};

class Input {
 public:
  /// Opens it without waiting for anybody. Throws Unreadable, also for folders
  /// and devices, which have no end.
  explicit Input(const std::filesystem::path& path);
  ~Input();
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  /// All of it. Throws Unreadable, also if it is a named pipe that nobody opens to write within seconds.
  std::string read_all();

 private:
  [[noreturn]] void refuse(const std::string& why) const;
  bool wait(int milliseconds) const;

  std::string path_;
  int descriptor_ = -1;
  bool is_pipe_ = false;
};

}  // namespace gradus::files
