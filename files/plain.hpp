// Text for terminals. A file, a name or a model may hold any bytes; printed text must not move the cursor,
// ring the bell, change colours or the direction of writing. Thread-safe: no state, except for PlainBuffer.
#pragma once

#include <cstddef>
#include <streambuf>
#include <string>
#include <string_view>

namespace gradus::files {

/// `text` on one line, with escapes for all characters that control a terminal or are invisible: control
/// characters as \n, \t or \x1b, C1 and marks that change the direction of writing as \u009b or \u202e, and
/// bytes that are not UTF-8 as \xff. All else is unchanged; plain(plain(text)) == plain(text).
std::string plain(std::string_view text);

/// The same for text of several lines: line ends stay.
std::string plain_lines(std::string_view text);

/// The same for text in columns too: line ends and tabs stay.
std::string plain_text(std::string_view text);

/// plain(text) in single quotes, cut where it is longer than `most` bytes.
std::string in_quotes(std::string_view text, size_t most = 60);

/// A stream buffer that passes plain_text() of its input on to another; a character may come in pieces. Not
/// thread-safe.
class PlainBuffer : public std::streambuf {
 public:
  /// `next` is borrowed.
  explicit PlainBuffer(std::streambuf& next) : next_(next) {}
  /// Writes an escape for an incomplete character at the end.
  ~PlainBuffer() override;

 protected:
  /// Takes one byte, which may be part of a character.
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* bytes, std::streamsize count) override;  ///< takes all of it
  int sync() override { return next_.pubsync(); }                             ///< flushes `next`

 private:
  bool pass(std::string_view text);

  std::streambuf& next_;
  std::string begun_;  // the first bytes of a character
};

}  // namespace gradus::files
