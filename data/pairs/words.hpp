// Words: the pieces into which GPT-2 cuts a text before it joins pairs, none of which reaches over their
// ends. Written out by hand, it is the pattern of OpenAI's encoder.py,
//
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//
// with the general categories L and N of Unicode 15 and, for \s, its property White_Space, as tiktoken and
// Hugging Face's tokenizers read it (Python's `regex` adds U+001C to U+001F). A byte that is not UTF-8 counts
// as a character that is neither letter nor number nor space, so that any bytes can be cut. Thread-safe: no
// state.
#pragma once

#include <cstddef>
#include <string_view>

namespace gradus::data::pairs {

/// How many bytes the first word of `text` has: at least 1, and 0 for no text. What comes before does not
/// matter, so words are found one after another.
size_t first_word(std::string_view text);

}  // namespace gradus::data::pairs
