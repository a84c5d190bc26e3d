// Strict UTF-8, by table 3-7 of the Unicode Standard: no overlong forms, no surrogates, nothing above
// U+10FFFF. Thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gradus::files {

/// A code point of a text.
struct CodePoint {
  char32_t value = 0;  ///< up to U+10FFFF
  int size = 0;        ///< in bytes; 0: not UTF-8
};

/// The first code point of `text`; of size 0 if `text` is empty or does not begin with one.
CodePoint first_code_point(std::string_view text);

/// The offset of the first byte at which no character starts, or text.size().
size_t first_bad_byte(std::string_view text);

/// Whether all of `text` is UTF-8.
inline bool is_utf8(std::string_view text) { return first_bad_byte(text) == text.size(); }

/// The number of bytes, 0 to 3, of an incomplete character at the end of `text`.
size_t unfinished(std::string_view text);

/// The bytes of `character`, which UTF-8 must be able to encode.
std::string to_utf8(char32_t character);

/// `character` for an error message: '€' (U+20AC), or U+000A if printing it would break the line.
std::string quoted(char32_t character);

}  // namespace gradus::files
