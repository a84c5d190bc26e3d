// PlainBuffer: a stream buffer that hands text on without what a terminal would obey. Line ends and tabs
// stay; a character may come in pieces. Not thread-safe.
#pragma once

#include <streambuf>
#include <string>
#include <string_view>

namespace gradus::files {

class PlainBuffer : public std::streambuf {
 public:
  /// `next` is borrowed.
  explicit PlainBuffer(std::streambuf& next) : next_(next) {}
  /// What began a character that never ended is handed on, written out.
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
