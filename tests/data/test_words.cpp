// GPT-2's pattern, written out by hand: words that others' readings of it gave, and what white space is.
#include "catch.hpp"
#include "gradus/data/pairs/words.hpp"

namespace test_words {

using gradus::data::pairs::first_word;
using Words = std::vector<std::string>;

Words words_of(std::string_view text) {
  Words words;
  while (!text.empty()) {
    const size_t size = first_word(text);
    REQUIRE(size >= 1);
    REQUIRE(size <= text.size());
    words.emplace_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return words;
}

/// What the character is taken for: of two spaces the first stands alone, others hold on to their like.
std::string kind_of(const std::string& character) {
  if (words_of(character + character + "a").front() == character) return "space";
  const Words words = words_of("a" + character + "1");
  if (words.front() == "a" + character) return "letter";
  return words.back() == character + "1" ? "number" : "other";
}

TEST_CASE("a text is cut as GPT-2 cuts it") {
  CHECK(first_word("") == 0);
  CHECK(words_of("Hello, I am") == Words{"Hello", ",", " I", " am"});
  CHECK(words_of("I'll don't we've she'd I'm they're it's") ==
        Words{"I", "'ll", " don", "'t", " we", "'ve", " she", "'d", " I", "'m", " they", "'re", " it", "'s"});
  CHECK(words_of("I'LL'Sa") == Words{"I", "'", "LL", "'", "Sa"});
  CHECK(words_of("'r'v'l're'") == Words{"'", "r", "'", "v", "'", "l", "'re", "'"});
  CHECK(words_of(" 's '' ''s") == Words{" '", "s", " ''", " ''", "s"});
  CHECK(words_of("abc123 456def") == Words{"abc", "123", " 456", "def"});
  CHECK(words_of("x=1;  // y") == Words{"x", "=", "1", ";", " ", " //", " y"});
}

TEST_CASE("the last of several spaces belongs to the word behind them") {
  CHECK(words_of(" a") == Words{" a"});
  CHECK(words_of("   a") == Words{"  ", " a"});
  CHECK(words_of("a   ") == Words{"a", "   "});
  CHECK(words_of("a \n\n b") == Words{"a", " \n\n", " b"});
  CHECK(words_of("\n\nb") == Words{"\n", "\n", "b"});
  CHECK(words_of("\nb") == Words{"\n", "b"});
  CHECK(words_of("\t\t!") == Words{"\t", "\t", "!"});
  CHECK(words_of(" ") == Words{" "});
  CHECK(words_of(" \xC2\xA0x") == Words{" ", "\xC2\xA0", "x"});
}

TEST_CASE("characters are letters, numbers and spaces as Unicode says") {
  for (const char* letter :
       {"z", "\xC3\xA9", "\xC2\xAA", "\xE4\xB8\xAD", "\xCA\xB0", "\xC7\x85", "\xF0\x90\x8C\xB0"})
    CHECK(kind_of(letter) == "letter");
  for (const char* number : {"7", "\xD9\xA3", "\xC2\xBD", "\xE2\x85\xA7", "\xC2\xB2"})
    CHECK(kind_of(number) == "number");
  // The property White_Space, and none that only looks so.
  for (const char* space :
       {"\t", "\n", "\x0B", "\x0C", "\r", " ", "\xC2\x85", "\xC2\xA0", "\xE1\x9A\x80", "\xE2\x80\x80",
        "\xE2\x80\x8A", "\xE2\x80\xA8", "\xE2\x80\xA9", "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80"}) {
    INFO(space);
    CHECK(kind_of(space) == "space");
  }
  for (const char* other : {"\x1C", "\x1F", "\xE2\x80\x8B", "\xEF\xBB\xBF", "_", "\xCC\x81", "\xE0\xA4\xBF",
                            "\xF0\x9F\x98\x80", "\xEF\xBF\xBD", "\x7F", "\xF4\x8F\xBF\xBF"}) {
    INFO(other);
    CHECK(kind_of(other) == "other");
  }
  CHECK(kind_of(std::string(1, '\0')) == "other");
}

TEST_CASE("bytes that are not UTF-8 are cut as marks are") {
  CHECK(words_of("a\xFF\xFE"
                 "b") == Words{"a", "\xFF\xFE", "b"});
  CHECK(words_of(" \xC3!") == Words{" \xC3!"});
  CHECK(words_of("\xE2\x82") == Words{"\xE2\x82"});
  CHECK(words_of("\xED\xA0\x80 x") == Words{"\xED\xA0\x80", " x"});
}

}  // namespace test_words
