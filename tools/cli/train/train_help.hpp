// What the help of `gradus train` ends with. Thread-safe: no state.
#pragma once

#include <string>

namespace gradus::cli {

/// The presets, which flags win, and examples; `program` is how the user calls it.
std::string train_footer(const std::string& program);

}  // namespace gradus::cli
