#include "catch.hpp"
#include "gradus/files/utf8.hpp"

namespace test_utf8 {

using namespace gradus::files;

TEST_CASE("every code point of the first plane, and one in 13 beyond, survives the way to UTF-8 and back") {
  int failures = 0;
  for (char32_t c = 0; c < 0x110000; c += c < 0x10000 ? 1 : 13) {
    if (c == 0xD800) c = 0xE000;
    const std::string bytes = to_utf8(c);
    const CodePoint back = first_code_point(bytes + "tail");
    const int expected_size = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    failures +=
        back.value != c || back.size != expected_size || bytes.size() != static_cast<size_t>(expected_size);
  }
  CHECK(failures == 0);
}

TEST_CASE("first_code_point reads known sequences") {
  CHECK(first_code_point("\xE2\x82\xAC").value == U'\u20AC');
  CHECK(first_code_point("\xF0\x9F\x98\x80").value == U'\U0001F600');
  CHECK(first_code_point(std::string_view("\0", 1)).size == 1);
  CHECK(first_code_point("\xF4\x8F\xBF\xBF").value == 0x10FFFF);
}

TEST_CASE("first_code_point refuses what is not UTF-8") {
  const std::string bad = GENERATE(as<std::string>(), "", "\x80", "\xBF",   // continuation without a lead
                                   "\xC0\x80", "\xC1\xBF",                  // overlong, 2 bytes
                                   "\xE0\x80\x80", "\xE0\x9F\xBF",          // overlong, 3 bytes
                                   "\xF0\x80\x80\x80", "\xF0\x8F\xBF\xBF",  // overlong, 4 bytes
                                   "\xED\xA0\x80", "\xED\xBF\xBF",          // surrogates
                                   "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFE", "\xFF",  // past U+10FFFF
                                   "\xC3", "\xE2\x82", "\xF0\x9F\x98",  // cut short at the end
                                   "\xC3z", "\xE2\x82z", "\xE2z\xAC", "\xF0\x9F\x98z", "\xF0\x9Fz\x80");
  CHECK(first_code_point(bad).size == 0);
}

TEST_CASE("unfinished finds the bytes at the end that others could make a character") {
  CHECK(unfinished("") == 0);
  CHECK(unfinished("abc\xE2\x82") == 2);
  CHECK(unfinished("abc\xE2\x82\xAC") == 0);
  // Beginnings of up to three bytes, each tried with a byte of each kind behind it.
  const std::string bytes("a\x7F\x80\x8F\x90\x9F\xA0\xBF\xC1\xC2\xDF\xE0\xE1\xED\xEF\xF0\xF1\xF4\xF5\xFF");
  const auto can_be_ended = [&](const std::string& begin) {
    for (const char next : bytes)
      for (size_t more = 1; begin.size() + more <= 4; ++more) {
        const std::string one = begin + next + std::string(more - 1, '\x80');
        if (first_code_point(one).size == static_cast<int>(one.size())) return true;
      }
    return false;
  };
  int wrong = 0;
  for (const char a : bytes)
    for (const char b : bytes)
      for (const char c : bytes) {
        const std::string text{a, b, c};
        size_t most = 0;
        for (size_t count = 1; count <= 3; ++count)
          if (can_be_ended(text.substr(3 - count))) most = count;
        if (unfinished(text) != most) ++wrong;
      }
  CHECK(wrong == 0);
}

TEST_CASE("quoted never breaks a line") {
  CHECK(quoted(U'a') == "'a' (U+0061)");
  CHECK(quoted(U'\u20AC') == "'\xE2\x82\xAC' (U+20AC)");
  CHECK(quoted(U'\U0001F600') == "'\xF0\x9F\x98\x80' (U+1F600)");
  CHECK(quoted(U'\n') == "U+000A");
  CHECK(quoted(0x7F) == "U+007F");
  CHECK(quoted(0x85) == "U+0085");
  CHECK(quoted(0x2028) == "U+2028");
}

}  // namespace test_utf8
