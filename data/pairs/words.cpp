#include "gradus/data/pairs/words.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "gradus/files/utf8.hpp"

namespace gradus::data::pairs {
namespace {

/// Characters that Unicode 15 to 16 have added, and one of their class that Unicode 14 has, for those of four
/// and of three bytes of UTF-8.
constexpr struct {
  char32_t like_four, like_three;
  const char* ranges;
} kAdded[] = {
    {0x10400, 0x1E00,  // Lu
     "1c89 a7cb-a7cc a7da a7dc 10d50-10d65"},
    {0x10428, 0x1E01,  // Ll
     "1c8a a7cd a7db 10d70-10d85 1df25-1df2a"},
    {0x1E137, 0x0,  // Lm
     "10d4e 10d6f 16d40-16d42 16d6b-16d6c 1e030-1e06d 1e4eb"},
    {0x20000, 0x0,  // Lo
     "105c0-105f3 10d4a-10d4d 10d4f 10ec2-10ec4 1123f-11240 11380-11389 1138b 1138e 11390-113b5 113b7 "
     "113d1 113d3 11bc0-11be0 11f02 11f04-11f10 11f12-11f33 1342f 13441-13446 13460-143fa 16100-1611d "
     "16d43-16d6a 18cff 1b132 1b155 1e4d0-1e4ea 1e5d0-1e5ed 1e5f0 2b739 2ebf0-2ee5d 31350-323af"},
    {0x1D165, 0x20D0,  // M
     "897 cf3 ece 10d69-10d6d 10efc-10eff 11241 113b8-113c0 113c2 113c5 113c7-113ca 113cc-113d0 113d2 "
     "113e1-113e2 11f00-11f01 11f03 11f34-11f3a 11f3e-11f42 11f5a 13440 13447-13455 1611e-1612f 1e08f "
     "1e4ec-1e4ef 1e5ee-1e5ef"},
    {0x104A0, 0x0,  // N
     "10d40-10d49 116d0-116e3 11bf0-11bf9 11f50-11f59 16130-16139 16d70-16d79 1ccf0-1ccf9 1d2c0-1d2d3 "
     "1e4f0-1e4f9 1e5f1-1e5fa"},
    {0x10100, 0x2016,  // P
     "1b4e-1b4f 1b7f 10d6e 113d4-113d5 113d7-113d8 11b00-11b09 11be1 11f43-11f4f 16d6d-16d6f 1e5ff"},
    {0x1D000, 0x2190,  // S
     "2427-2429 2ffc-2fff 31e4-31e5 31ef 10d8e-10d8f 1cc00-1ccef 1cd00-1ceb3 1f6dc 1f774-1f776 1f77b-1f77f "
     "1f7d9 1f8b2-1f8bb 1f8c0-1f8c1 1fa75-1fa77 1fa87-1fa89 1fa8f 1faad-1faaf 1fabb-1fabf 1fac6 "
     "1face-1facf 1fada-1fadc 1fadf 1fae8-1fae9 1faf7-1faf8 1fbcb-1fbef"},
};

struct Range {
  char32_t first, last, like;
};

std::vector<Range> added_ranges() {
  std::vector<Range> all;
  for (const auto& [like_four, like_three, ranges] : kAdded) {
    std::istringstream text(ranges);
    for (std::string range; text >> range;) {
      const auto first = static_cast<char32_t>(std::stoul(range, nullptr, 16));
      const size_t dash = range.find('-') + 1;  // 0 without one
      all.push_back({first, static_cast<char32_t>(std::stoul(range.substr(dash), nullptr, 16)),
                     first < 0x10000 ? like_three : like_four});
    }
  }
  std::ranges::sort(all, {}, &Range::last);
  return all;
}

enum class Class : uint8_t { other, space, letter, number };

Class class_beyond_ascii(char32_t c) {
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(in_unicode_14(c)));
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

char32_t in_unicode_14(char32_t c) {
  static const std::vector<Range> all = added_ranges();
  const auto range = std::ranges::lower_bound(all, c, {}, &Range::last);
  return range != all.end() && c >= range->first ? range->like : c;
}

size_t first_word(std::string_view text) {
  if (text.empty()) return 0;
  if (const size_t size = contraction(text); size > 0) return size;
  const size_t begin = text[0] == ' ' && text.size() > 1 ? 1 : 0;
  const Character c = character_at(text, begin);
  return c.kind == Class::space ? white_space(text) : end_of_run(text, begin + c.size, c.kind);
}

}  // namespace gradus::data::pairs
