#include "catch.hpp"
#include "gradus/data/tokenizer.hpp"
#include "support.hpp"

namespace test_tokenizer {

using gradus::data::Tokenizer;
using Tokens = std::vector<int32_t>;

std::string all_bytes() {
  std::string bytes;
  for (int b = 0; b < 256; ++b) bytes += static_cast<char>(b);
  return bytes;
}

TEST_CASE("characters are numbered in ascending order of their code points") {
  const Tokenizer tokenizer = Tokenizer::characters(
      "b\xE2\x82\xAC"
      "a\r\nb\xC3\xA9");  // b€a, é
  CHECK(tokenizer.kind() == "char");
  CHECK(tokenizer.vocab_size() == 6);
  CHECK(tokenizer.encode("\n\r"
                         "ab\xC3\xA9\xE2\x82\xAC") == Tokens{0, 1, 2, 3, 4, 5});
  CHECK(tokenizer.encode("").empty());
}

TEST_CASE("characters come back as they were, CRLF and rare ones included") {
  const std::string text =
      "One\r\nTwo\n\xEF\xBB\xBF\xF0\x9F\x98\x80" + std::string(1, '\0') + "\xE4\xB8\xAD.";
  const Tokenizer tokenizer = Tokenizer::characters(text);
  const Tokens tokens = tokenizer.encode(text);
  CHECK(tokens.size() == 14);
  CHECK(tokenizer.decode(tokens) == text);
  CHECK(tokenizer.byte_count(tokens) == static_cast<int64_t>(text.size()));
}

TEST_CASE("bytes encode anything and may be cut anywhere") {
  const Tokenizer tokenizer = Tokenizer::bytes();
  CHECK(tokenizer.kind() == "byte");
  CHECK(tokenizer.vocab_size() == 256);
  const std::string text = all_bytes() + "\xE2\x82\xAC";
  const Tokens tokens = tokenizer.encode(text);
  CHECK(tokens.front() == 0);
  CHECK(tokens[255] == 255);
  CHECK(tokenizer.decode(tokens) == text);
  CHECK(tokenizer.byte_count(tokens) == 259);
  const Tokens head(tokens.begin(), tokens.end() - 1), tail(tokens.end() - 1, tokens.end());
  CHECK(tokenizer.decode(head) + tokenizer.decode(tail) == text);
}

TEST_CASE("make chooses by name") {
  CHECK(Tokenizer::make("char", "ab") == Tokenizer::characters("ab"));
  CHECK(Tokenizer::make("byte", "ab") == Tokenizer::bytes());
  CHECK(Tokenizer::make("bpe", "abab").kind() == "bpe");
  CHECK_THROWS_WITH(Tokenizer::make("word", "ab"),
                    "[tokenizer] the kind must be char, byte or bpe, got 'word'.");
}

TEST_CASE("text that is not UTF-8 is refused with the place and a way out") {
  CHECK_THROWS_WITH(
      Tokenizer::characters("caf\xE9 noir"),
      "[tokenizer] the text must be UTF-8, got byte 0xe9 at byte offset 3, where no character starts. "
      "Hint: save the text as UTF-8, or use `tokenizer` byte.");
  CHECK_ERROR(Tokenizer::characters("\xE2\x82\xAC\xED\xA0\x80"), "byte 0xed at byte offset 3");
  CHECK_ERROR(Tokenizer::characters("ab\xE2\x82"), "byte 0xe2 at byte offset 2");
  CHECK(error_of([] {
          Tokenizer::characters("ab").encode("b\xC0\x80");
        }).find("[encode] the text must be UTF-8") == 0);
  CHECK_THROWS_WITH(Tokenizer::characters(""),
                    "[tokenizer] the text must have at least one character, got none.");
}

TEST_CASE("characters that the vocabulary lacks are named, with their places") {
  const Tokenizer tokenizer = Tokenizer::characters("abcd");
  const std::string hint =
      ". Hint: leave these characters out of the text, or train a new model with `tokenizer` byte or bpe, "
      "which read any text.";
  CHECK_THROWS_WITH(tokenizer.encode("abcd\xE2\x82\xAC"),
                    "[encode] the vocabulary has no '\xE2\x82\xAC' (U+20AC), at character 5" + hint);
  CHECK_THROWS_WITH(
      tokenizer.encode("\xC3\xA9"
                       "a\n\xC3\xA9xyzz"),
      "[encode] the vocabulary has no '\xC3\xA9' (U+00E9), at character 1, U+000A, at character 3, "
      "'x' (U+0078), at character 5, and 2 more" +
          hint);
}

TEST_CASE("decode refuses tokens outside the vocabulary") {
  const Tokenizer tokenizer = Tokenizer::characters("abc");
  CHECK_THROWS_WITH(tokenizer.decode(Tokens{0, 3}), "[decode] tokens must be in [0, 3), got 3.");
  CHECK_THROWS_WITH(tokenizer.decode(Tokens{-1}), "[decode] tokens must be in [0, 3), got -1.");
  CHECK_THROWS_WITH(tokenizer.byte_count(Tokens{3}), "[decode] tokens must be in [0, 3), got 3.");
  CHECK_THROWS_WITH(Tokenizer::bytes().decode(Tokens{256}), "[decode] tokens must be in [0, 256), got 256.");
}

TEST_CASE("vocab.json brings back the same tokenizer") {
  const Tokenizer tokenizer =
      Tokenizer::characters("\"\\\n\t\x7F\xC3\xA9\xE2\x80\xA8\xF0\x9F\x98\x80" + std::string(1, '\0'));
  CHECK(Tokenizer::from_json(tokenizer.to_json()) == tokenizer);
  CHECK(Tokenizer::from_json(Tokenizer::bytes().to_json()) == Tokenizer::bytes());
  CHECK(Tokenizer::characters("ba").to_json() ==
        "{\n  \"tokenizer\": \"char\",\n  \"characters\": \"ab\"\n}\n");
  CHECK(Tokenizer::bytes().to_json() == "{\n  \"tokenizer\": \"byte\"\n}\n");
}

TEST_CASE("vocab.json is read strictly") {
  const auto refused = [](const std::string& json, const std::string& error) {
    CHECK_THROWS_WITH(Tokenizer::from_json(json, "v.json"), "[vocabulary] v.json" + error);
  };
  refused("",
          " must be JSON, got the end at line 1, column 1: unexpected end of input; expected '[', '{', or a "
          "literal.");
  refused(std::string("{\"tokenizer\": \"byte\"}\0garbage", 29),
          " must be JSON, got '\\x00' at line 1, column 22: a zero byte is no part of JSON.");
  refused("{\"tokenizer\": \"char\", \"characters\": \"\xFF\"}",
          " must be JSON, got '\\xff' at line 1, column 38: invalid string: ill-formed UTF-8 byte.");
  refused("{}", " must have a field 'tokenizer'.");
  refused("{\"tokenizer\": \"bpe\"}", ": tokenizer must be char or byte, got 'bpe'.");
  refused("{\"tokenizer\": \"char\"}", " must have a field 'characters'.");
  refused("{\"tokenizer\": \"byte\", \"merges\": []}",
          " must have no field 'merges'. Hint: it may have tokenizer, special.");
  refused("{\"tokenizer\": \"char\", \"characters\": \"aa\"}",
          ": characters must ascend, got 'a' (U+0061) after 'a' (U+0061).");
  refused("{\"tokenizer\": \"char\", \"characters\": \"\"}", ": characters must not be empty.");
}

}  // namespace test_tokenizer
