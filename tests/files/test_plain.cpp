#include "gradus/files/plain.hpp"

#include <ostream>

#include "catch.hpp"

namespace test_plain {

using namespace gradus::files;

TEST_CASE("what a terminal would obey is written out") {
  CHECK(plain("\x1b]0;title\x07\x1b[2J") == "\\x1b]0;title\\x07\\x1b[2J");
  CHECK(plain("a\nb\tc\rd") == "a\\nb\\tc\\rd");
  CHECK(plain(std::string("\0\x7f", 2)) == "\\x00\\x7f");
  CHECK(plain("\xC2\x9B"
              "31m") == "\\u009b31m");  // CSI as one character of C1
  CHECK(plain("\x9B"
              "31m") ==
        "\\x9b"
        "31m");  // and as one byte
  CHECK(plain("a\xE2\x80\xAE"
              "b") == "a\\u202eb");  // right-to-left override
  CHECK(plain("\xE2\x81\xA6\xE2\x81\xA9") == "\\u2066\\u2069");
  CHECK(plain("\xE2\x80\xA8") == "\\u2028");
  CHECK(plain("\xEF\xBB\xBF") == "\\ufeff");
  CHECK(plain("\xff\xC3") == "\\xff\\xc3");
}

TEST_CASE("all other text stays as it is, and so does text that was cleaned before") {
  const std::string text = "plain ASCII ~, \xC3\xA9, \xE2\x82\xAC, \xF0\x9F\x98\x80, a\\b, 'c'";
  CHECK(plain(text) == text);
  for (int byte = 0; byte < 256; ++byte) {
    const std::string once = plain(std::string(1, static_cast<char>(byte)));
    CHECK(plain(once) == once);
    CHECK((byte >= 0x20 && byte < 0x7f ? once.size() == 1 : once[0] == '\\'));
  }
}

TEST_CASE("lines stay lines where there may be several") {
  CHECK(plain_lines("a\nb\x1b\n\r\n") == "a\nb\\x1b\n\\r\n");
}

TEST_CASE("in quotes a text is cut between characters") {
  CHECK(in_quotes("abc") == "'abc'");
  CHECK(in_quotes("a\n") == "'a\\n'");
  CHECK(in_quotes("abcd", 3) == "'abc...'");
  CHECK(in_quotes("ab\xE2\x82\xAC", 4) == "'ab...'");
  CHECK(in_quotes("ab\xE2\x82\xAC", 5) == "'ab\xE2\x82\xAC'");
}

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

}  // namespace test_plain
