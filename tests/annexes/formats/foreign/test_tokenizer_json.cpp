// tokenizer.json of other programs, beside the ids of Hugging Face's tokenizers (theirs.mjs), and refusals.
#include <vector>

#include "data/small_vocabulary.hpp"
#include "data/support.hpp"
#include "gradus/data/pairs/rules.hpp"
#include "gradus/data/tokenizer.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/json.hpp"
#include "test_files.hpp"

namespace test_tokenizer_json {

using namespace gradus::data;
namespace fs = std::filesystem;
using gradus::files::Field;
using gradus::files::Json;

const fs::path kTheirs = gradus::testing::test_files() / "data/theirs";

std::vector<int32_t> numbers(const Field& list) {
  std::vector<int32_t> all;
  for (const Field& number : list.items()) all.push_back(static_cast<int32_t>(number.integer()));
  return all;
}

/// tokenizer.json of bytes with these steps.
std::string with_steps(const std::string& pre_tokenizer, const std::string& normalizer = "null",
                       const std::string& more = "", const std::string& merges = "a b\nab c\n") {
  std::string list, rest = merges;
  for (size_t end; (end = rest.find('\n')) != rest.npos; rest.erase(0, end + 1))
    list += (list.empty() ? "\"" : ", \"") + rest.substr(0, end) + "\"";
  return "{\"added_tokens\": [], \"normalizer\": " + normalizer + ", \"pre_tokenizer\": " + pre_tokenizer +
         ", \"model\": {\"type\": \"BPE\", \"vocab\": " + small_vocab(merges) + ", \"merges\": [" + list +
         "]" + more + "}}";
}

std::string cut_by(const std::string& step) {
  return "{\"type\": \"Sequence\", \"pretokenizers\": [" + step +
         ", {\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"use_regex\": false}]}";
}

std::string split(const std::string& regex, const std::string& behavior, bool invert = false) {
  return cut_by("{\"type\": \"Split\", \"pattern\": {\"Regex\": " + gradus::files::json_text(regex) +
                "}, \"behavior\": \"" + behavior + "\", \"invert\": " + (invert ? "true}" : "false}"));
}

std::string read_error(const std::string& json) {
  return error_of([&] { Tokenizer::from_tokenizer_json(json, "t.json"); });
}

TEST_CASE("tokenizers of other programs give Hugging Face's ids") {
  int folders = 0;
  for (const auto& entry : fs::directory_iterator(kTheirs)) {
    ++folders;
    INFO(entry.path());
    const std::string text = gradus::files::read(entry.path() / "tokenizer.json");
    const Tokenizer tokenizer = load_tokenizer(entry.path());
    const Json json(gradus::files::read(entry.path() / "cases.json"), "test", "cases.json");
    CHECK(tokenizer.prefix() == numbers(json.root().at("prefix")));
    CHECK(tokenizer.suffix().empty());
    for (const Field& one : json.root().at("cases").items()) {
      INFO(one.at("text").text());
      CHECK(tokenizer.encode_with_specials(one.at("text").text()) == numbers(one.at("ids")));
    }
    CHECK(tokenizer_files(tokenizer).at("tokenizer.json") == text);
    const bool changes = text.find("\"normalizer\":{") != text.npos;
    const std::string any = "It's \xFF\xFE a\xE0\xA4 \x80 12 \n<think>";
    if (!changes) CHECK(tokenizer.decode(tokenizer.encode(any)) == any);
  }
  CHECK(folders == 7);
}

TEST_CASE("the behaviors of a Split") {
  const auto tokens = [](const std::string& step) {
    const Tokenizer tokenizer = Tokenizer::from_tokenizer_json(with_steps(step));
    std::string shown;
    for (const int32_t token : tokenizer.encode("abcabcab")) shown += tokenizer.decode({&token, 1}) + "|";
    return shown;
  };
  // The words are joined by "a b" and "ab c" as far as the cuts let them.
  CHECK(tokens(split("b", "Isolated")) == "a|b|c|a|b|c|a|b|");
  CHECK(tokens(split("b", "MergedWithPrevious")) == "ab|c|ab|c|ab|");
  CHECK(tokens(split("[ab]+c", "Removed", true)) == "abc|abc|");
  CHECK(tokens(split("(?=c)", "Isolated")) == "ab|c|ab|c|ab|");  // empty matches
}

TEST_CASE("what a tokenizer.json of other programs may not have is named") {
  const std::string file = "[tokenizer] t.json: ";
  CHECK(
      read_error(with_steps(cut_by("{\"type\": \"Metaspace\"}"))) ==
      file +
          "pre_tokenizer, pretokenizers[0], type must be Split, Digits, ByteLevel or a Sequence of them, got "
          "'Metaspace'.");
  for (const auto& [behavior, invert] :
       {std::pair{"Removed", false}, {"Isolated", true}, {"Contiguous", false}})
    CHECK_HAS(read_error(with_steps(split("b", behavior, invert))),
              std::string("must be Isolated, MergedWithPrevious or, with invert, Removed, got '") +
                  (invert ? "inverted " : "") + behavior + "'.");
  for (const char* regex : {"[a-z&&[^c]]+", "\\h+", "(?m:.)", "(?im)b", "a{,2}"})
    CHECK_HAS(read_error(with_steps(split(regex, "Isolated"))), "means something else in Oniguruma");
  CHECK_HAS(read_error(with_steps(split("(b", "Isolated"))),
            "must be a regular expression, got an object of 1: missing closing parenthesis at byte 2.");
  CHECK_HAS(read_error(with_steps(split("", "Isolated"))), "must not be empty.");
  std::string many;
  for (int i = 0; i < 17; ++i) many += std::string(i == 0 ? "" : ", ") + "{\"type\": \"Digits\"}";
  CHECK(read_error(with_steps(cut_by(many))) ==
        file + "pre_tokenizer, pretokenizers[16] must be one of at most 16 steps.");
  CHECK(read_error(with_steps("{\"type\": \"ByteLevel\"}", "{\"type\": \"NFKC\"}")) ==
        file + "normalizer, type must be NFC, Prepend, Replace or a Sequence of them, got 'NFKC'.");
  CHECK_HAS(read_error(with_steps("null", "{\"type\": \"NFC\"}")),
            "model must have either byte_fallback or a ByteLevel before it, got neither.");
  CHECK_HAS(read_error(with_steps("null", "null", ", \"byte_fallback\": true")),
            "must have all 256 bytes, got none for <0x00>");
}

TEST_CASE("patterns that take exponential time end with an error, however long the text") {
  const auto repeated = [](const std::string& text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
  };
  // Of the last two, no match takes long: there are just many, or many beginnings without a match.
  for (const auto& [regex, text] : {std::pair{"(a+)+$", std::string(60, 'a') + "!"},
                                    {"(a|aa)+$", std::string(300'000, 'a') + "!"},
                                    {"(?:(x+x+)+y)|c", std::string(100'000, 'x') + "!"},
                                    {"(?=(a+))\\1[bc]", std::string(300'000, 'a')},
                                    {"a+[bc]", std::string(300'000, 'a')},
                                    {"a*a*a*[bc]", std::string(10'000, 'a')},
                                    {"(?:(x+x+)+y)|c", repeated("xxxxxxxxxxxxxxxxxx!", 50'000)}}) {
    INFO(regex);
    const Tokenizer tokenizer = Tokenizer::from_tokenizer_json(with_steps(split(regex, "Isolated")));
    CHECK_ERROR(tokenizer.encode(text), "Hint: the pattern backtracks too much.");
    CHECK(tokenizer.decode(tokenizer.encode("aaa")) == "aaa");
  }
  const Tokenizer tokenizer = Tokenizer::from_tokenizer_json(with_steps(split("\\s*\n|\\s+", "Isolated")));
  const std::string spaces = repeated(std::string(1000, ' ') + "a", 2000);
  CHECK(tokenizer.decode(tokenizer.encode(spaces)) == spaces);
}

TEST_CASE("a pattern matches long words as short ones, wherever windows of the text end") {
  const auto words = [](const std::string& regex, const std::string& text) {
    std::vector<size_t> sizes;
    const std::vector<pairs::Split> splits{{regex, pairs::Split::Behavior::isolated, pairs::compiled(regex)}};
    pairs::Splitter(splits).words(text, [&](std::string_view word) { sizes.push_back(word.size()); });
    return sizes;
  };
  for (const size_t size : {1, 254, 255, 256, 257, 300, 511, 513, 5000}) {
    INFO(size);
    const std::string a(size, 'a'), space(size, ' ');
    using Sizes = std::vector<size_t>;
    CHECK(words("a+|b", a + "b" + a) == Sizes{size, 1, size});
    CHECK(words("b*", a + "bb") == [&] {
      Sizes sizes(size, 1);
      sizes.push_back(2);
      return sizes;
    }());
    CHECK(words("\\s+(?!\\S)|\\s+|a", space + "  a") == Sizes{size + 1, 1, 1});
    CHECK(words("c", a + "c") == Sizes{size, 1});
    CHECK(words("(?<=a)c", a + "c") == Sizes{size, 1});
    CHECK(words("(a)\\1|c", "aa" + space + "c") == Sizes{2, size, 1});  // which PCRE2 interprets
    std::string accents;
    for (size_t i = 0; i < size; ++i) accents += "\xC3\xA9";
    CHECK(words("\\p{L}+", "-" + accents + "-") == Sizes{1, 2 * size, 1});
  }
}

TEST_CASE("what a stranger's tokenizer.json costs is bounded") {
  std::string doubling = "{\"type\": \"Sequence\", \"normalizers\": [";
  for (int i = 0; i < 12; ++i)
    doubling += std::string(i == 0 ? "" : ", ") +
                R"({"type": "Replace", "pattern": {"String": "a"}, "content": "aa"})";
  const Tokenizer grows =
      Tokenizer::from_tokenizer_json(with_steps("{\"type\": \"ByteLevel\"}", doubling + "]}"));
  CHECK(grows.encode("bc").size() == 2);
  CHECK_ERROR(grows.encode(std::string(1000, 'a')), "the normalizer must make at most 16064 bytes");
  const auto around = [](const std::string& pieces, const std::string& ids) {
    std::string json = with_steps("{\"type\": \"ByteLevel\"}");
    return read_error(json.insert(1, R"("post_processor": {"type": "TemplateProcessing", "single": [)" +
                                         pieces + R"(], "special_tokens": {"s": {"ids": [0)" + ids +
                                         "]}}}, "));
  };
  const std::string text = R"({"Sequence": {"id": "A"}})", special = R"({"SpecialToken": {"id": "s"}}, )";
  CHECK(around(special + text, "") == "no error");
  CHECK_HAS(around(special + text, ",1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7"),
            "ids[16] must be one of at most 16 tokens.");
  CHECK_HAS(around(special.substr(0, special.size() - 2), ""), "must have the Sequence of the text.");
  CHECK_ERROR(small_tokenizer("a b\n", {std::string(257, 'x')}),
              "an added token must have at most 256 bytes, got 257.");
}

TEST_CASE("NFC orders marks by their classes, however many there are") {
  // U+0323 has the class 220, U+0307 and U+0301 have 230 (UnicodeData.txt); marks of a class stay in order.
  const auto nfc = [](const std::string& text) {
    return pairs::normalized(text, {{pairs::Normalization::Kind::nfc, "", ""}});
  };
  std::string marks = "q", ordered = "q";
  for (int i = 0; i < 20'000; ++i) marks += "\xCC\x87\xCC\xA3";
  for (int i = 0; i < 20'000; ++i) ordered += "\xCC\xA3";
  for (int i = 0; i < 20'000; ++i) ordered += "\xCC\x87";
  CHECK(nfc(marks) == ordered);
  CHECK(nfc("q\xCC\x87\xCC\xA3") == "q\xCC\xA3\xCC\x87");           // UAX #15, figure 5
  CHECK(nfc("d\xCC\x87\xCC\xA3") == "\xE1\xB8\x8D\xCC\x87");        // U+1E0D U+0307, the same
  CHECK(nfc("\xCD\x84 e\xCC\x81") == "\xCC\x88\xCC\x81 \xC3\xA9");  // U+0344 is U+0308 U+0301
}

TEST_CASE("a folder keeps tokenizer.json and its companions unchanged") {
  const TemporaryFolder folder, copy;
  fs::copy(kTheirs / "llama3/tokenizer.json", folder / "tokenizer.json");
  const std::string config =
      "{\"bos_token\": {\"content\": \"<|begin_of_text|>\"}, \"eos_token\": \"he\", \"chat_template\": "
      "\"{{x}}\"}";
  write_file(folder / "tokenizer_config.json", config);
  write_file(folder / "generation_config.json", "{\"eos_token_id\": [3, 4], \"top_p\": 0.9}");
  write_file(folder / "vocab.json", small_vocab("a b\n"));  // of the same tokens, but without the rules
  const Tokenizer tokenizer = load_tokenizer(folder.path());
  CHECK(tokenizer.bos() == tokenizer.token_of("<|begin_of_text|>"));
  REQUIRE(tokenizer.bos());
  CHECK(tokenizer.eos() == std::vector<int32_t>{tokenizer.token_of("he").value(), 3, 4});
  CHECK(tokenizer.chat_template() == "{{x}}");
  save_tokenizer(tokenizer, copy.path());
  for (const char* name : {"tokenizer.json", "tokenizer_config.json", "generation_config.json"})
    CHECK(file_bytes(copy / name) == file_bytes(folder / name));
  CHECK_FALSE(fs::exists(copy / "vocab.json"));
  CHECK(load_tokenizer(copy.path()) == tokenizer);
  CHECK_ERROR(tokenizer.with_special({"<|new|>"}), "must have the special token '<|new|>'");
  CHECK(tokenizer.with_special({"<|begin_of_text|>"}) == tokenizer);
}

TEST_CASE("the last special tokens can be left out, unless they end texts") {
  const Tokenizer tokenizer = small_tokenizer("a b\n", {"<|endoftext|>"}).with_special({"<x>", "<y>"});
  const Tokenizer cut = tokenizer.cut_to(258);
  CHECK(cut.vocab_size() == 258);
  CHECK(cut.encode_with_specials("ab<|endoftext|><x>") !=
        tokenizer.encode_with_specials("ab<|endoftext|><x>"));
  CHECK(cut.decode(cut.encode_with_specials("ab<|endoftext|><x>")) == "ab<|endoftext|><x>");
  CHECK(cut == small_tokenizer("a b\n", {"<|endoftext|>"}));
  for (const int64_t size : {256, 257, 260, 261}) CHECK(tokenizer.cut_to(size) == tokenizer);
  const Tokenizer chat = tokenizer.with_chat_template("{{ messages }}", 259);
  CHECK(chat.cut_to(259) == chat);
  CHECK(Tokenizer::bytes().cut_to(10) == Tokenizer::bytes());
}

TEST_CASE("special tokens on request") {
  const std::vector<std::string> texts = {"<|im_start|>", "<|im_end|>"};
  for (const Tokenizer& plain : {Tokenizer::characters("ab<|im_start>\n"), Tokenizer::bytes(),
                                 small_tokenizer("a b\n", {"<|endoftext|>"})}) {
    const Tokenizer tokenizer = plain.with_special(texts);
    const auto first = static_cast<int32_t>(plain.vocab_size());
    CHECK(tokenizer.vocab_size() == first + 2);
    CHECK(tokenizer.token_of("<|im_end|>") == first + 1);
    CHECK(tokenizer.with_special(texts) == tokenizer);
    std::vector<int32_t> expected = plain.encode("ab");
    expected.insert(expected.begin(), first);
    expected.push_back(first + 1);
    CHECK(tokenizer.encode_with_specials("<|im_start|>ab<|im_end|>") == expected);
    CHECK(tokenizer.encode("<|im_start|>") == plain.encode("<|im_start|>"));
    CHECK(tokenizer.decode(expected) == "<|im_start|>ab<|im_end|>");
    CHECK(Tokenizer::from_tokenizer_json(tokenizer.to_tokenizer_json()) == tokenizer);
    const TemporaryFolder folder;
    const Tokenizer chat = tokenizer.with_chat_template("{{ messages }}", first + 1);
    save_tokenizer(chat, folder.path());
    CHECK(load_tokenizer(folder.path()) == tokenizer);
    CHECK(load_tokenizer(folder.path()).chat_template() == "{{ messages }}");
    CHECK(load_tokenizer(folder.path()).eos() == std::vector<int32_t>{first + 1});
    CHECK_ERROR(plain.with_special({"a"}), "that no other token has, got 'a'.");
  }
}

}  // namespace test_tokenizer_json
