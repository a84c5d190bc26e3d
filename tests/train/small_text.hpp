// A text small enough that a test trains on it in milliseconds.
#pragma once

#include <string>

namespace gradus::train {

inline std::string small_text() {
  std::string text;
  for (int i = 0; i < 60; ++i)
    text += "verse " + std::to_string(i * i % 97) + ": the " + (i % 3 ? "sower" : "reaper") + " went forth\n";
  return text;
}

}  // namespace gradus::train
