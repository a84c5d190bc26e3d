// Byte pairs: what they encode, beside the slow and obvious; special tokens; and learning them.
#include "catch.hpp"
#include "gradus/data/pairs/byte_pairs.hpp"
#include "gradus/data/pairs/words.hpp"
#include "gradus/data/tokenizer.hpp"
#include "slow_byte_pairs.hpp"
#include "small_vocabulary.hpp"
#include "support.hpp"

namespace test_byte_pairs {

using namespace gradus::data;
using Tokens = std::vector<int32_t>;

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size(); at += words.back().size())
    words.push_back(text.substr(at, pairs::first_word(std::string_view(text).substr(at))));
  return words;
}

/// Tokens of the slow way, as their texts.
std::vector<std::string> slow_texts(const std::string& text, const std::string& merges) {
  std::map<slow::Pair, int> ranks;
  for (size_t at = merges.find('\n') + 1; at < merges.size();) {
    const size_t space = merges.find(' ', at), end = merges.find('\n', at);
    ranks.emplace(slow::Pair{*pairs::bytes_of(merges.substr(at, space - at)),
                             *pairs::bytes_of(merges.substr(space + 1, end - space - 1))},
                  static_cast<int>(ranks.size()));
    at = end + 1;
  }
  std::vector<std::string> texts;
  for (const std::string& word : words_of(text))
    for (const std::string& part : slow::encode(word, ranks)) texts.push_back(part);
  return texts;
}

std::vector<std::string> texts_of(const Tokenizer& tokenizer, const Tokens& tokens) {
  std::vector<std::string> texts;
  for (const int32_t token : tokens) texts.push_back(tokenizer.decode({&token, 1}));
  return texts;
}

/// A text of few letters, in which pairs overlap in every way.
std::string random_text(std::mt19937& random, size_t size, const std::string& letters) {
  std::string text;
  while (text.size() < size) text += letters[random() % letters.size()];
  return text;
}

std::string corpus() {
  std::mt19937 random(11);
  std::string text = random_text(random, 3000, "aaab ") + random_text(random, 3000, "abcdefgh  \n'");
  for (int i = 0; i < 1000; ++i) text += static_cast<char>(random());
  return text + std::string(300, 'x') + " " + std::string(77, '=');
}

TEST_CASE("every byte has a letter, and GPT-2's order") {
  CHECK(pairs::letters_of(" a\n~\xAD\xFF") ==
        "\xC4\xA0"
        "a\xC4\x8A~\xC5\x83\xC3\xBF");
  std::vector<bool> seen(256);
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text(1, static_cast<char>(byte));
    CHECK(pairs::bytes_of(pairs::letters_of(text)) == text);
    seen[pairs::bytes_by_letter()[static_cast<size_t>(byte)]] = true;
  }
  CHECK(std::count(seen.begin(), seen.end(), true) == 256);
  CHECK(pairs::bytes_by_letter()[0] == '!');
  CHECK(pairs::bytes_by_letter()[187] == 0xFF);
  CHECK(pairs::bytes_by_letter()[188] == 0);
  CHECK(pairs::bytes_by_letter()[220] == ' ');
  CHECK(pairs::bytes_by_letter()[255] == 0xAD);
  CHECK_FALSE(pairs::bytes_of(" "));
  CHECK_FALSE(pairs::bytes_of("\xC5\x84"));
  CHECK_FALSE(pairs::bytes_of("\xE4\xB8\xAD"));
  CHECK_FALSE(pairs::bytes_of("\xFF"));
}

TEST_CASE("merges are made in their order, within words") {
  const Tokenizer tokenizer =
      small_tokenizer("#version: 0.2\nh e\n\xC4\xA0 t\n\xC4\xA0t he\nl l\nhe ll\n", {"<|endoftext|>"});
  CHECK(tokenizer.kind() == "bpe");
  CHECK(tokenizer.vocab_size() == 262);
  CHECK(tokenizer.encode("") == Tokens{});
  CHECK(texts_of(tokenizer, tokenizer.encode("the hell")) ==
        std::vector<std::string>{"t", "he", " ", "hell"});
  CHECK(tokenizer.encode(" the") == Tokens{258});
  CHECK(tokenizer.encode("he t") == Tokens{256, 257});
  CHECK(tokenizer.byte_count(Tokens{258, 256, 0}) == 7);
  CHECK_THROWS_WITH(tokenizer.decode(Tokens{262}), "[decode] tokens must be in [0, 262), got 262.");
  CHECK(tokenizer.has(U'\u20AC'));
}

TEST_CASE("special tokens are tokens only where that is asked for") {
  const Tokenizer tokenizer =
      small_tokenizer("#version: 0.2\na b\n", {"<|end|>", "<|end|>more", "\xE2\x82\xAC"});
  CHECK(tokenizer.special_tokens() == Tokens{257, 258, 259});
  const std::string text =
      "ab<|end|>ab<|end|>more<|end|>\xE2\x82\xAC"
      "a";
  CHECK(tokenizer.decode(tokenizer.encode(text)) == text);
  CHECK(tokenizer.encode(text).size() > 20);
  const Tokens tokens = tokenizer.encode_with_specials(text);
  CHECK(tokens == Tokens{256, 257, 256, 258, 257, 259, 64});
  CHECK(tokenizer.decode(tokens) == text);
  CHECK(tokenizer.encode_with_specials("<|end|>") == Tokens{257});
  CHECK(tokenizer.encode_with_specials("<|end") == tokenizer.encode("<|end"));
  CHECK(tokenizer.encode_with_specials("").empty());
}

TEST_CASE("of special tokens that overlap the first is taken, and the longest of those that begin together") {
  const std::vector<std::string> specials{"ab", "abc", "bc", "bcab", "cc", "ccc", "aXa", "XaX", "caa"};
  const Tokenizer tokenizer = small_tokenizer("#version: 0.2\nb b\nX X\n", specials);
  const auto first = static_cast<int32_t>(tokenizer.vocab_size() - std::ssize(specials));
  const auto slow = [&](const std::string& text) {
    Tokens tokens;
    std::string plain;
    const auto finish = [&] {
      for (const int32_t token : tokenizer.encode(plain)) tokens.push_back(token);
      plain.clear();
    };
    for (size_t at = 0; at < text.size();) {
      int32_t longest = -1;
      for (int32_t i = 0; i < std::ssize(specials); ++i)
        if (text.compare(at, specials[i].size(), specials[i]) == 0 &&
            (longest < 0 || specials[i].size() > specials[longest].size()))
          longest = i;
      if (longest < 0) {
        plain += text[at++];
        continue;
      }
      finish();
      tokens.push_back(first + longest);
      at += specials[longest].size();
    }
    finish();
    return tokens;
  };
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    const std::string text = random_text(random, random() % 24, "aabbccX");
    CAPTURE(text);
    REQUIRE(tokenizer.encode_with_specials(text) == slow(text));
  }
}

TEST_CASE("what was learnt encodes as the slow way does, and comes back byte for byte") {
  const std::string text = corpus();
  const Tokenizer tokenizer = Tokenizer::make("bpe", text, 520);
  CHECK(tokenizer.vocab_size() == 520);
  const std::string merges = tokenizer.to_merges();
  std::mt19937 random(5);
  std::vector<std::string> inputs{text, std::string(200, 'a'), "", "a", std::string(65, 'a') + "b"};
  for (int i = 0; i < 300; ++i) inputs.push_back(random_text(random, random() % 60, "aabbcdefgh \n"));
  for (const std::string& input : inputs) {
    const Tokens tokens = tokenizer.encode(input);
    REQUIRE(tokenizer.decode(tokens) == input);
    REQUIRE(texts_of(tokenizer, tokens) == slow_texts(input, merges));
  }
}

TEST_CASE("a word of 100,000 letters takes no longer than many short ones") {
  const Tokenizer tokenizer = small_tokenizer("#version: 0.2\na a\naa aa\naaaa aaaa\n");
  const std::string text(100'001, 'a');
  const Tokens tokens = tokenizer.encode(text);
  CHECK(tokens.size() == 12'501);
  CHECK(tokenizer.decode(tokens) == text);
}

TEST_CASE("learning joins the pairs that counting anew each time would") {
  const std::string text = corpus();
  std::map<std::string, int64_t> words;
  for (const std::string& word : words_of(text)) ++words[word];
  const auto place = [](int byte) {
    const auto& order = pairs::bytes_by_letter();
    return static_cast<int>(std::find(order.begin(), order.end(), byte) - order.begin());
  };
  std::string expected = "#version: 0.2\n";
  for (const auto& [left, right] : slow::learn(words, 400, place))
    expected += pairs::letters_of(left) + " " + pairs::letters_of(right) + "\n";
  CHECK(Tokenizer::make("bpe", text, 657).to_merges() == expected);
}

TEST_CASE("learning ends when no pair occurs twice, and does not depend on the order of texts") {
  const Tokenizer tokenizer = Tokenizer::make("bpe", "abab", 1000);
  CHECK(tokenizer.vocab_size() == 258);  // "abab" itself would occur once.
  CHECK(tokenizer.to_merges() == "#version: 0.2\na b\n");
  CHECK(tokenizer.special_tokens() == Tokens{257});
  CHECK(tokenizer.decode(Tokens{257}) == "<|endoftext|>");
  CHECK(Tokenizer::make("bpe", "", 1000).vocab_size() == 257);

  PairTrainer one, two;
  for (const char* text : {"hello world", " world", "low lower"}) one.add(text);
  for (const char* text : {"low lower", "hello world", " world"}) two.add(text);
  CHECK(one.train(300) == two.train(300));
  CHECK(one.train(300) != one.train(260));
  CHECK_THROWS_WITH(one.train(256),
                    "[tokenizer] `vocab` must be a number of tokens in [257, 10000000], got 256.");
}

TEST_CASE("a long word is learnt from in time") {
  const Tokenizer tokenizer = Tokenizer::make("bpe", std::string(1 << 20, 'a'), 4096);
  CHECK(tokenizer.vocab_size() == 257 + 19);  // aa, aaaa, ...: the last pair of halves occurs once
}

TEST_CASE("a stream of tokens gives whole characters, and in the end every byte") {
  const Tokenizer tokenizer = Tokenizer::bytes();
  DecodeStream stream(tokenizer);
  const std::string text = "a\xE2\x82\xAC\xF0\x9F\x98\x80\xFF\xE2\x82z\xC3";
  std::vector<std::string> steps;
  for (const char byte : text) steps.push_back(stream.step(static_cast<unsigned char>(byte)));
  CHECK(steps == std::vector<std::string>{"a", "", "", "\xE2\x82\xAC", "", "", "", "\xF0\x9F\x98\x80", "\xFF",
                                          "", "", "\xE2\x82z", ""});
  CHECK(stream.finish() == "\xC3");
  CHECK(stream.finish().empty());
}

}  // namespace test_byte_pairs
