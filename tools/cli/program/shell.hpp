// Commands as a person can paste them into a shell. Thread-safe: no state.
#pragma once

#include <string>
#include <string_view>

namespace gradus::cli {

/// `word` so that a shell reads it back as it is: bare where it can be, else in quotes. Never with a
/// character that a terminal acts on or a line end.
std::string shell_word(std::string_view word);

/// The same for the name of a file or folder, which must not look like a flag.
std::string shell_path(const std::string& path);

}  // namespace gradus::cli
