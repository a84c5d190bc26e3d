// UTF-8, strictly: only the sequences of table 3-7 of the Unicode Standard (nothing overlong, no surrogates,
// nothing above U+10FFFF). Thread-safety: no state.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gradus::files {

/// One code point of a text, and its size there.
struct CodePoint {
  char32_t value = 0;  ///< its number, up to U+10FFFF
  int size = 0;        ///< bytes; 0 where the text is not UTF-8
};

/// The code point that `text` begins with; of size 0 if that is none, or `text` is empty.
CodePoint first_code_point(std::string_view text);

/// Whether all of `text` is UTF-8.
bool is_utf8(std::string_view text);

/// How many bytes at the end of `text`, 0 to 3, begin a character that is not whole: more bytes could make it
/// one.
size_t unfinished(std::string_view text);

/// The bytes of `character`, which must be a code point that UTF-8 can encode.
std::string to_utf8(char32_t character);

/// How an error message shows `character`: '€' (U+20AC), or U+000A where printing it would break the line.
std::string quoted(char32_t character);

}  // namespace gradus::files
