// Text for terminals: escapes bytes from files, names and models that would control the terminal.
// Thread-safe, except for PlainBuffer.
#pragma once

#include <cstddef>
#include <streambuf>
#include <string>
#include <string_view>

namespace gradus::files {

/// `text` on one line, with escapes for control characters (\n, \t, \x1b, \u009b), for invisible ones and
/// marks that change the direction of writing (\u202e), and for bytes that are not UTF-8 (\xff).
std::string plain(std::string_view text);

/// The same, but keeps line ends.
std::string plain_lines(std::string_view text);
/// The same, but keeps line ends and tabs.
std::string plain_text(std::string_view text);

/// plain(text) in single quotes, cut after `most` bytes.
std::string in_quotes(std::string_view text, size_t most = 60);

/// The message of an error without its "[op] ", as a part of the message of another error.
std::string_view without_op(std::string_view message);

/// A stream buffer that passes plain_text() of its input to another one; characters may come in pieces. Not
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
  std::string begun_;  // first bytes of a character
};

}  // namespace gradus::files
