// What a machine, or a root of its own on it, may lack.
#pragma once

#include "catch.hpp"

namespace gradus::testing {

/// Whether `path` is there: /proc/self, /dev/full. If not, the test that needs it says so, and passes.
inline bool machine_has(const char* path) {
  const bool there = std::filesystem::exists(path);
  if (!there) {
    WARN("skipped: there is no " << path << " here");
    SUCCEED();
  }
  return there;
}

}  // namespace gradus::testing
