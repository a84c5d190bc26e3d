// Changes of a JSON value by path, for tests of files that are wrong in one place.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace gradus::testing {

inline const nlohmann::json kErased = "(erased)";

/// A path as RFC 6901 has it, "/inputs/0/name", and the value there, or kErased. The path "" is the whole.
using Changes = std::vector<std::pair<std::string, nlohmann::json>>;

inline nlohmann::json changed(nlohmann::json all, const Changes& changes) {
  for (const auto& [path, value] : changes) {
    const nlohmann::json::json_pointer at(path);
    if (value != kErased) {
      all[at] = value;
      continue;
    }
    nlohmann::json& parent = all[at.parent_pointer()];
    if (parent.is_array())
      parent.erase(std::stoul(at.back()));
    else
      parent.erase(at.back());
  }
  return all;
}

}  // namespace gradus::testing
