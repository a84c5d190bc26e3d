#include "gradus/files/plain.hpp"

#include <cstdio>

#include "gradus/files/error.hpp"
#include "gradus/files/utf8.hpp"

namespace gradus::files {
namespace {

bool is_harmless(char32_t c) {
  if (c < 0x20 || (c >= 0x7F && c < 0xA0)) return false;  // C0, DEL, C1
  const bool changes_direction = c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) ||
                                 (c >= 0x2066 && c <= 0x2069);
  return !changes_direction && c != 0x2028 && c != 0x2029 && c != 0xFEFF;
}

std::string escape(char32_t c, const char* format) {
  if (c == '\n') return "\\n";
  if (c == '\t') return "\\t";
  if (c == '\r') return "\\r";
  char code[16];
  std::snprintf(code, sizeof code, format, static_cast<unsigned>(c));
  return code;
}

std::string cleaned(std::string_view text, std::u32string_view keep) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const CodePoint c = first_code_point(text);
    const size_t size = c.size == 0 ? 1 : static_cast<size_t>(c.size);
    if (c.size == 0)
      result += escape(static_cast<unsigned char>(text[0]), "\\x%02x");
    else if (is_harmless(c.value) || keep.find(c.value) != keep.npos)
      result += text.substr(0, size);
    else
      result += escape(c.value, c.value < 0x80 ? "\\x%02x" : "\\u%04x");
    text.remove_prefix(size);
  }
  return result;
}

/// The cut is never within a character.
std::string_view beginning(std::string_view text, size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  return text.substr(0, most);
}

}  // namespace

std::string plain(std::string_view text) { return cleaned(text, U""); }
std::string plain_lines(std::string_view text) { return cleaned(text, U"\n"); }
std::string plain_text(std::string_view text) { return cleaned(text, U"\n\t"); }

std::string in_quotes(std::string_view text, size_t most) {
  const std::string_view shown = beginning(text, most);
  return concat("'", plain(shown), shown.size() < text.size() ? "...'" : "'");
}

std::string_view without_op(std::string_view message) {
  const size_t end = message.starts_with('[') ? message.find("] ") : message.npos;
  return end == message.npos ? message : message.substr(end + 2);
}

PlainBuffer::~PlainBuffer() { pass(plain(begun_)); }

PlainBuffer::int_type PlainBuffer::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  const char byte = traits_type::to_char_type(c);
  return xsputn(&byte, 1) == 1 ? c : traits_type::eof();
}

std::streamsize PlainBuffer::xsputn(const char* bytes, std::streamsize count) {
  begun_.append(bytes, static_cast<size_t>(count));
  const size_t whole = begun_.size() - unfinished(begun_);
  const bool good = pass(plain_text(std::string_view(begun_).substr(0, whole)));
  begun_.erase(0, whole);
  return good ? count : 0;
}

bool PlainBuffer::pass(std::string_view text) {
  const auto size = static_cast<std::streamsize>(text.size());
  return next_.sputn(text.data(), size) == size;
}

}  // namespace gradus::files
