// What may be typed behind a flag, told with its definition, for the shell to complete. Thread-safe: no
// state.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class Option;
}

namespace gradus::cli {

/// Words without blanks.
using Choices = std::function<std::vector<std::string>()>;

/// The value of the option may be one of these, which are asked for only when somebody wants to know. That it
/// is one of them the verb checks itself, as do config files. Returns the option.
CLI::Option* choices(CLI::Option* option, Choices words);

/// What choices() was told; none if it was told nothing.
std::vector<std::string> choices_of(CLI::Option& option);

}  // namespace gradus::cli
