#include "gradus/files/utf8.hpp"

#include <cstdio>

#include "gradus/files/error.hpp"

namespace gradus::files {

CodePoint first_code_point(std::string_view text) {
  if (text.empty()) return {};
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {lead, 1};

  const int size = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (size == 0 || text.size() < static_cast<size_t>(size)) return {};
  // The second byte reveals overlong forms, surrogates and values beyond the end.
  const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < low || byte(1) > high) return {};

  char32_t value = lead & (0x7F >> size);
  for (int i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    value = value << 6 | (byte(i) & 0x3F);
  }
  return {value, size};
}

size_t first_bad_byte(std::string_view text) {
  size_t at = 0;
  while (const int size = first_code_point(text.substr(at)).size) at += static_cast<size_t>(size);
  return at;
}

size_t unfinished(std::string_view text) {
  for (size_t size = 1; size <= 3 && size <= text.size(); ++size) {
    const std::string_view end = text.substr(text.size() - size);
    const auto lead = static_cast<unsigned char>(end[0]);
    if ((lead & 0xC0) == 0x80) continue;
    const size_t whole = lead >= 0xF5 ? 0 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
    if (whole <= size) return 0;
    if (size == 1) return 1;
    // Only the second byte depends on the lead; 0x80 is valid after it.
    const std::string completed = std::string(end) + std::string(whole - size, '\x80');
    return first_code_point(completed).size > 0 ? size : 0;
  }
  return 0;
}

std::string to_utf8(char32_t character) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | (character >> shift & 0x3F)); };
  if (character < 0x80) return {static_cast<char>(character)};
  if (character < 0x800) return {static_cast<char>(0xC0 | character >> 6), tail(0)};
  if (character < 0x10000) return {static_cast<char>(0xE0 | character >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xF0 | character >> 18), tail(12), tail(6), tail(0)};
}

std::string quoted(char32_t character) {
  char code[16];
  std::snprintf(code, sizeof code, "U+%04X", static_cast<unsigned>(character));
  const bool control = character < 0x20 || (character >= 0x7F && character < 0xA0);
  const bool line_break = character == 0x2028 || character == 0x2029;
  return control || line_break ? std::string(code) : concat("'", to_utf8(character), "' (", code, ")");
}

}  // namespace gradus::files
