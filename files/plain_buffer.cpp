#include "gradus/files/plain_buffer.hpp"

#include "gradus/files/plain.hpp"
#include "gradus/files/utf8.hpp"

namespace gradus::files {
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
