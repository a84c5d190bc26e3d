// GPT-2's letters for bytes: files of byte pairs are texts, so each of the 256 bytes is written as a
// character that can be seen. Those that print in Latin-1 stand for themselves, the other 68 for U+0100 and
// up: the space is Ġ. (`bytes_to_unicode` in OpenAI's encoder.py.) Thread-safe: no state.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gradus::data::pairs {

inline constexpr int32_t kBytes = 256;  ///< how many there are

/// The letter of a byte.
char32_t letter_of(unsigned char byte);
/// The byte of a letter; none if the character is no byte's.
std::optional<unsigned char> byte_of(char32_t letter);

/// Bytes as letters, in UTF-8.
std::string letters_of(std::string_view bytes);
/// And back; none if there is another character among them.
std::optional<std::string> bytes_of(std::string_view letters);

/// The bytes in the order of their letters, which is that of GPT-2's vocabulary: token 0 is '!'.
const std::array<unsigned char, kBytes>& bytes_by_letter();

}  // namespace gradus::data::pairs
