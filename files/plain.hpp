// Text for people. What a file, a name or a model says may hold anything; what is shown must not move the
// cursor, ring, recolour, or turn the direction of writing. Thread-safe: no state.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gradus::files {

/// `text` with what a terminal would obey, or nobody would see, written out instead: control characters as
/// \n, \t or \x1b, C1 and marks that turn the direction of writing as \u009b or \u202e, and bytes that are
/// not UTF-8 as \xff. The rest stays as it is, so that doing it twice changes nothing. One line.
std::string plain(std::string_view text);

/// The same for text of several lines: line ends stay.
std::string plain_lines(std::string_view text);

/// The same for text in columns too: line ends and tabs stay.
std::string plain_text(std::string_view text);

/// plain(text) in single quotes, cut where it is longer than `most` bytes.
std::string in_quotes(std::string_view text, size_t most = 60);

}  // namespace gradus::files
