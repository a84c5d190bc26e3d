// Where this program is. Thread-safe: no state.
#pragma once

#include <string>

namespace gradus::cli {

/// Its path, or without /proc what it was started as.
std::string this_program();

}  // namespace gradus::cli
