// The end of the help of `gradus train`. Thread-safe: no state.
#pragma once

#include <string>

namespace gradus::cli {

/// The presets, the precedence of flags, and examples; `program` is the name by which the user calls it.
std::string train_footer(const std::string& program);

}  // namespace gradus::cli
