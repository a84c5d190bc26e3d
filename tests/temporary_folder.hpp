// A new folder among the system's temporary files, removed at the end of the scope.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

#include "gradus/files/error.hpp"

namespace gradus::testing {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "gradus-XXXXXX").string();
    if (!::mkdtemp(name.data()))
      throw RunError("[files] the temporary folder must be writable, got an error for ", name, ".");
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace gradus::testing
