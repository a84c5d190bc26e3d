#include <ostream>

#include "catch.hpp"
#include "gradus/files/plain.hpp"

namespace test_plain_buffer {

using namespace gradus::files;

/// What comes out if it is written in pieces of so many bytes, each flushed.
std::string written(const std::string& text, size_t piece) {
  std::stringbuf result;
  {
    PlainBuffer plain(result);
    std::ostream stream(&plain);
    for (size_t at = 0; at < text.size(); at += piece) stream << text.substr(at, piece) << std::flush;
    CHECK(stream.good());
  }
  return result.str();
}

TEST_CASE("characters in pieces come out whole, and nothing else gets through") {
  const std::string text =
      "a\tb\n\x1b[2J\x07\x7f \xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\xEF\xBF\xBD \xC2\x9B\xE2\x80\xAE "
      "\xE2\x82x\xF0\x9F\n\xFF\xC3\xC3\xA9\xED\xA0\x80\xE2";
  const std::string expected = plain_text(text);
  CHECK(expected ==
        "a\tb\n\\x1b[2J\\x07\\x7f \xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\xEF\xBF\xBD \\u009b\\u202e "
        "\\xe2\\x82x\\xf0\\x9f\n\\xff\\xc3\xC3\xA9\\xed\\xa0\\x80\\xe2");
  for (size_t piece = 1; piece <= text.size(); ++piece) CHECK(written(text, piece) == expected);
}

TEST_CASE("a character by itself is handed on at once") {
  std::stringbuf result;
  PlainBuffer plain(result);
  std::ostream stream(&plain);
  stream << 'a';
  CHECK(result.str() == "a");
  stream << '\xC3';
  CHECK(result.str() == "a");
  stream << '\xA9';
  CHECK(result.str() == "a\xC3\xA9");
}

}  // namespace test_plain_buffer
