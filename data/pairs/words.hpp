// Words: GPT-2's pre-tokenization. Pairs are merged within words only. Implements the pattern of OpenAI's
// encoder.py,
//
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//
// with the general categories L and N of Unicode 16 and, for \s, its property White_Space, as tiktoken and
// Hugging Face's tokenizers do (Python's `regex` adds U+001C to U+001F). A byte that is not UTF-8 counts as a
// character that is neither letter nor number nor space. Thread-safe: no state.
#pragma once

#include <cstddef>
#include <string_view>

namespace gradus::data::pairs {

/// Number of bytes of the first word of `text`; 0 for an empty text. It does not depend on the text before,
/// so words are found one after another.
size_t first_word(std::string_view text);

/// The character, or one of the same class (Lu, Ll, Lm, Lo, M, N, P or S) and size in UTF-8 for those that
/// Unicode 15 to 16 have added, which PCRE2 10.42 and utf8proc 2.8 do not know.
char32_t in_unicode_14(char32_t c);

}  // namespace gradus::data::pairs
