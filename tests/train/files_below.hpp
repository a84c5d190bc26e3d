// The files of a run, to compare them with those of another.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "gradus/files/file.hpp"

namespace gradus::train {

/// All files below a folder but the log, which has times, and the lock.
inline std::map<std::string, std::string> files_below(const std::filesystem::path& folder) {
  std::map<std::string, std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_regular_file() && name != "metrics.jsonl" && name != ".lock")
      found[std::filesystem::relative(entry.path(), folder).string()] = files::read(entry.path());
  }
  return found;
}

}  // namespace gradus::train
