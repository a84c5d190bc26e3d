#include "gradus/data/pairs/words.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "gradus/files/utf8.hpp"

namespace gradus::data::pairs {
namespace {

enum class Class : uint8_t { other, space, letter, number };

Class class_beyond_ascii(char32_t c) {
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  const auto is_in = [&](utf8proc_category_t first, utf8proc_category_t last) {
    return category >= first && category <= last;
  };
  if (is_in(UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LO)) return Class::letter;
  if (is_in(UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO)) return Class::number;
  // NEL (U+0085) is the only control character beyond ASCII with the property White_Space.
  return is_in(UTF8PROC_CATEGORY_ZS, UTF8PROC_CATEGORY_ZP) || c == 0x85 ? Class::space : Class::other;
}

constexpr std::array<Class, 0x80> kAscii = [] {
  std::array<Class, 0x80> classes{};
  for (size_t c = 0; c < classes.size(); ++c) {
    if ((c >= '\t' && c <= '\r') || c == ' ') classes[c] = Class::space;
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) classes[c] = Class::letter;
    if (c >= '0' && c <= '9') classes[c] = Class::number;
  }
  return classes;
}();

struct Character {
  Class kind;
  size_t size;
};

Character character_at(std::string_view text, size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < kAscii.size()) return {kAscii[lead], 1};
  const files::CodePoint c = files::first_code_point(text.substr(at));
  if (c.size == 0) return {Class::other, 1};
  return {class_beyond_ascii(c.value), static_cast<size_t>(c.size)};
}

/// The end of the run of characters of that class that begins at `at`.
size_t end_of_run(std::string_view text, size_t at, Class kind) {
  while (at < text.size()) {
    const Character c = character_at(text, at);
    if (c.kind != kind) break;
    at += c.size;
  }
  return at;
}

/// The size of a contraction at the beginning of the text, or 0.
size_t contraction(std::string_view text) {
  if (!text.starts_with('\'')) return 0;
  for (const std::string_view one : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
    if (text.starts_with(one)) return one.size();
  return 0;
}

/// The size of white space, without its last character, which belongs to the next word, unless it is the only
/// one or the text ends.
size_t white_space(std::string_view text) {
  size_t at = 0, last = 0;
  while (at < text.size()) {
    const Character c = character_at(text, at);
    if (c.kind != Class::space) return last > 0 ? last : at;
    last = at;
    at += c.size;
  }
  return at;
}

}  // namespace

size_t first_word(std::string_view text) {
  if (text.empty()) return 0;
  if (const size_t size = contraction(text); size > 0) return size;
  const size_t begin = text[0] == ' ' && text.size() > 1 ? 1 : 0;
  const Character c = character_at(text, begin);
  return c.kind == Class::space ? white_space(text) : end_of_run(text, begin + c.size, c.kind);
}

}  // namespace gradus::data::pairs
