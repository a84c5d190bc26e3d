// Commands that a user can paste into a shell, and the path of this program. Thread-safe: no state.
#pragma once

#include <string>
#include <string_view>

namespace gradus::cli {

/// `word` in the form in which a shell reads it back: bare or in quotes. Control characters are escaped.
std::string shell_word(std::string_view word);

/// The same for a path: ./ precedes a leading dash.
std::string shell_path(const std::string& path);

/// The path of this program; without /proc, the name that it was started by.
std::string this_program();

}  // namespace gradus::cli
