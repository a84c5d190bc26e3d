// The files of tokenizers: GPT-2's, Hugging Face's and our own; and what is wrong with some.
#include "catch.hpp"
#include "gradus/data/tokenizer.hpp"
#include "small_vocabulary.hpp"
#include "support.hpp"
#include "test_files.hpp"

namespace test_tokenizer_files {

using namespace gradus::data;
using Tokens = std::vector<int32_t>;

const std::string kMerges = "#version: 0.2\na b\nab c\n\xC4\xA0 a\n# #\n";

Tokenizer pairs_tokenizer() { return small_tokenizer(kMerges, {"<|endoftext|>"}); }

/// A text with its first `from` as `to`.
std::string with(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != text.npos);
  return text.replace(at, from.size(), to);
}

std::string gpt2_error(const std::string& vocab, const std::string& merges) {
  return error_of([&] { Tokenizer::from_gpt2(vocab, merges, "v.json", "m.txt"); });
}

std::string json_error(const std::string& json) {
  return error_of([&] { Tokenizer::from_tokenizer_json(json, "t.json"); });
}

TEST_CASE("meta.pkl gives nanoGPT's characters, as a file and in a folder", "[needs.formats]") {
  const std::filesystem::path folder = gradus::testing::test_files() / "nn/golden/checkpoints";
  const Tokenizer expected = Tokenizer::characters("\n !abcdefgh");
  CHECK(load_tokenizer(folder / "meta.pkl") == expected);
  CHECK(load_tokenizer(folder) == expected);
  // itos and stoi: dictionaries of SHORT_BINUNICODE and BININT1.
  const TemporaryFolder other;
  const auto read = [&](const std::string& itos, const std::string& stoi) {
    write_file(other / "meta.pkl", "\x80\x04}(\x8c\4itos}(" + itos + "u\x8c\4stoi}(" + stoi + "uu.");
    return error_of([&] { load_tokenizer(other.path()); });
  };
  const std::string zero("K\0", 2), a = "\x8c\1a", b = "\x8c\1z";
  CHECK(read(zero + a + "K\1" + b, a + zero + b + "K\1") == "no error");
  CHECK_HAS(read(zero + a + "K\2" + b, ""), "the characters of 0, 1 and so on, got 1 of 2.");
  CHECK_HAS(read(zero + "\x8c\2ab", ""),
            "must have one character for each number, and stoi its number, got 'ab' for 0.");
  CHECK_HAS(read(zero + a, a + "K\1"), "and stoi its number, got 'a' for 0.");
}

TEST_CASE("every kind of tokenizer comes back from each of its files", "[needs.formats]") {
  const Tokenizer pairs = pairs_tokenizer();
  CHECK(Tokenizer::from_gpt2(pairs.to_json(), pairs.to_merges()) == pairs);
  CHECK(pairs.to_merges() == kMerges);
  for (const Tokenizer& tokenizer :
       {pairs, Tokenizer::bytes(), Tokenizer::characters("\"\\\n\xE2\x82\xAC z" + std::string(1, '\0')),
        Tokenizer::make("bpe", "hello hello world world", 270), small_tokenizer("a b\n")}) {
    CHECK(Tokenizer::from_tokenizer_json(tokenizer.to_tokenizer_json()) == tokenizer);
    const TemporaryFolder folder;
    for (const auto& [name, text] : tokenizer_files(tokenizer)) write_file(folder / name, text);
    CHECK(load_tokenizer(folder.path()) == tokenizer);
    CHECK(load_tokenizer(folder / "tokenizer.json") == tokenizer);
    std::filesystem::remove(folder / "vocab.json");
    CHECK(load_tokenizer(folder.path()) == tokenizer);
  }
  CHECK(pairs != Tokenizer::bytes());
  CHECK(Tokenizer::bytes() != pairs);
  CHECK(pairs != small_tokenizer(kMerges));
  CHECK(Tokenizer::bytes().to_merges().empty());
}

TEST_CASE("a tokenizer is saved into a folder, new or not, and loaded from there") {
  const TemporaryFolder folder;
  const auto into = folder / "new/one";
  for (const Tokenizer& tokenizer : {pairs_tokenizer(), Tokenizer::characters("ab"), Tokenizer::bytes()}) {
    save_tokenizer(tokenizer, into);
    CHECK(load_tokenizer(into) == tokenizer);
  }
  write_file(into / "vocab.json", Tokenizer::characters("b").to_json());
  CHECK_ERROR(load_tokenizer(into), "vocab.json");  // by its checksum
  save_tokenizer(Tokenizer::bytes(), into);
  CHECK(load_tokenizer(into) == Tokenizer::bytes());
}

TEST_CASE("the files have the names and form that others know") {
  const std::map<std::string, std::string> files = tokenizer_files(pairs_tokenizer());
  CHECK(files.size() == 4);
  CHECK(tokenizer_files(Tokenizer::bytes()).size() == 3);
  CHECK(files.at("vocab.json").starts_with("{\n  \"!\": 0,\n  \"\\\"\": 1,\n  \"#\": 2,"));
  CHECK_HAS(files.at("vocab.json"),
            "\n  \"\xC4\xA0"
            "a\": 258,\n  \"##\": 259,\n  \"<|endoftext|>\": 260\n}\n");
  const std::string& json = files.at("tokenizer.json");
  CHECK_HAS(json, "{\"id\": 260, \"content\": \"<|endoftext|>\"",
            "\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false");
  CHECK_HAS(json,
            "\"merges\": [\n      \"a b\",\n      \"ab c\",\n      \"\xC4\xA0 a\",\n      \"# #\"\n    ]");
}

TEST_CASE("OpenAI's names, and a folder with several forms") {
  const TemporaryFolder folder;
  write_file(folder / "encoder.json", pairs_tokenizer().to_json());
  CHECK_ERROR(load_tokenizer(folder.path()), "must have merges.txt (or vocab.bpe) next to encoder.json");
  write_file(folder / "vocab.bpe", kMerges);
  CHECK(load_tokenizer(folder.path()) == pairs_tokenizer());
  write_file(folder / "vocab.json", Tokenizer::bytes().to_json());
  CHECK(load_tokenizer(folder.path()) == Tokenizer::bytes());

  const TemporaryFolder empty;
  CHECK_ERROR(load_tokenizer(empty.path()), "must have vocab.json or tokenizer.json");
  CHECK_ERROR(load_tokenizer(empty / "none.json"), "must be a folder or a tokenizer.json");
}

TEST_CASE("a token called tokenizer does not make a vocabulary ours") {
  const std::string merges = "t o\n";
  const TemporaryFolder folder;
  write_file(folder / "vocab.json", small_vocab(merges, {"tokenizer"}));
  write_file(folder / "merges.txt", merges);
  CHECK(load_tokenizer(folder.path()).special_tokens() == Tokens{257});
}

TEST_CASE("added tokens and end tokens of a folder are those of transformers, or refused by name",
          "[needs.formats]") {
  const TemporaryFolder folder;
  write_file(folder / "vocab.json", small_vocab("t o\n", {"<|endoftext|>"}));  // 0 to 257
  write_file(folder / "merges.txt", "t o\n");
  struct {
    std::string file, text, error;  // or "<a>" is 258, and the end tokens are `ends`
    Tokens ends{};
  } const cases[] = {
      {"added_tokens.json", R"({"<b>": 259, "<a>": 258})", "", {257}},
      {"added_tokens.json", R"({"<a>": 260})", "260, '<a>', of added_tokens.json or"},
      {"added_tokens.json", R"({"to": 258})", "that no other token has, got 'to'"},
      {"tokenizer_config.json", R"({"added_tokens_decoder": {"258": {"content": "<a>"}}})", "", {257}},
      {"tokenizer_config.json",
       R"({"added_tokens_decoder": {"258": {"content": "<a>"}}, "eos_token": "<a>"})",
       "",
       {258}},
      {"tokenizer_config.json", R"({"added_tokens_decoder": {"258": {"content": "<a>", "lstrip": true}}})",
       "lstrip must be null or off, got true"},
      {"tokenizer_config.json", R"({"added_tokens_decoder": {"258": {"content": "<a>", "special": false}}})",
       "special must be true"},
      {"tokenizer_config.json", R"({"additional_special_tokens": ["to", "<z>"]})", "got '<z>'"},
      {"tokenizer_config.json", R"({"extra_special_tokens": ["<z>"]})", "got '<z>'"},
      {"tokenizer_config.json", R"({"extra_special_tokens": {"image_token": "<z>"}})", "got '<z>'"},
      {"tokenizer_config.json", R"({"unk_token": {"content": "<z>"}})", "unk_token must be a token of the"},
      {"tokenizer_config.json", R"({"unk_token": "to", "pad_token": "<z>", "mask_token": null})", "", {257}},
      {"tokenizer_config.json", R"({"tokenizer_class": "GPT2Tokenizer"})", "", {257}},
      {"tokenizer_config.json", R"({"tokenizer_class": "Qwen2Tokenizer"})",
       "tokenizer_class must be GPT2Tokenizer if there is no tokenizer.json, got"},
      {"tokenizer_config.json", R"({"add_prefix_space": true})", "add_prefix_space must be null or off"},
      {"special_tokens_map.json", R"({"eos_token": {"content": "to", "rstrip": true}})", "rstrip must be"},
      {"tokenizer_config.json", R"({"eos_token": "<z>"})",
       "eos_token must be a token of the vocabulary, got '<z>'"},
      {"tokenizer_config.json", R"({"chat_template": [{"name": "rag", "template": "x"}]})",
       "one with the name default"},
      {"special_tokens_map.json", R"({"pad_token": "<z>", "eos_token": {"content": "to"}})", "", {256}},
      {"special_tokens_map.json", R"({"additional_special_tokens": ["to", "<z>"]})", "got '<z>'"},
      {"config.json", R"({"eos_token_id": 65})", "", {65}},
      {"config.json", R"({"eos_token_id": [65, 50256, 66]})", "", {65, 66}},
      {"config.json", R"({"eos_token_id": null})", "", {257}},
      {"config.json", R"({"eos_token_id": 65, "bos_token_id": 50256})", "", {65}},
      {"config.json", R"({"eos_token_id": [65, 300]})",
       "eos_token_id[1] must be a whole number from 0 to 257, got 300"},
      {"config.json", R"({"eos_token_id": 50257})", "must be a whole number from 0 to 257, got 50257"},
      {"config.json", R"({"bos_token_id": -1})", "bos_token_id must be a whole number from 0 to 257, got -1"},
      {"tokenizer_config.json", R"({"add_bos_token": false, "add_eos_token": null})", "", {257}},
      {"tokenizer_config.json", R"({"add_bos_token": true})",
       "add_bos_token must be what the post_processor of tokenizer.json does, which adds none, got true."},
  };
  for (const auto& one : cases) {
    INFO(one.text);
    for (const char* name :
         {"added_tokens.json", "tokenizer_config.json", "special_tokens_map.json", "config.json"})
      std::filesystem::remove(folder / name);
    write_file(folder / one.file, one.text);
    if (!one.error.empty()) {
      CHECK_ERROR(load_tokenizer(folder.path()), one.error);
      continue;
    }
    const Tokenizer tokenizer = load_tokenizer(folder.path());
    CHECK(tokenizer.eos() == one.ends);
    if (one.text.find("<a>") != one.text.npos)
      CHECK(tokenizer.encode_with_specials("to<a>") == Tokens{256, 258});
    const TemporaryFolder copy;
    save_tokenizer(tokenizer, copy.path());
    CHECK(load_tokenizer(copy.path()) == tokenizer);
    CHECK(load_tokenizer(copy.path()).eos() == one.ends);
  }
  std::filesystem::remove(folder / "tokenizer_config.json");
  // A generation_config.json goes before config.json; a tokenizer.json of others lists all tokens itself.
  write_file(folder / "config.json", R"({"eos_token_id": 65})");
  write_file(folder / "generation_config.json", R"({"eos_token_id": 66})");
  CHECK(load_tokenizer(folder.path()).eos() == Tokens{66});
  // So does its bos_token_id, unless the tokenizer's own file has another, or says that there is none.
  for (const char* file : {"generation_config.json", "config.json"}) {
    std::filesystem::remove(folder / "generation_config.json");
    write_file(folder / file, R"({"bos_token_id": 67})");
    const TemporaryFolder saved;
    write_file(folder / "tokenizer_config.json", "{}");
    save_tokenizer(load_tokenizer(folder.path()), saved.path());
    CHECK(load_tokenizer(saved.path()).bos() == 67);
    write_file(folder / "tokenizer_config.json", R"({"bos_token": null})");
    CHECK_FALSE(load_tokenizer(folder.path()).bos());
    write_file(folder / "tokenizer_config.json", R"({"bos_token": "to"})");
    CHECK(error_of([&] { load_tokenizer(folder.path()); }).find("must be that of bos_token, 256, got 67.") !=
          std::string::npos);
  }
  const TemporaryFolder theirs, copy;
  std::filesystem::copy(gradus::testing::test_files() / "data/theirs/llama3/tokenizer.json",
                        theirs / "tokenizer.json");
  write_file(theirs / "config.json", R"({"eos_token_id": 65, "bos_token_id": 66})");
  save_tokenizer(load_tokenizer(theirs.path()), copy.path());
  CHECK(load_tokenizer(copy.path()).eos() == Tokens{65});
  CHECK(load_tokenizer(copy.path()).bos() == 66);
  // DeepSeek V3 has no post_processor that adds a token, but a class that obeys add_bos_token.
  const auto prefix_with = [&](const std::string& members) {
    write_file(theirs / "tokenizer_config.json", R"({"bos_token": "<|begin_of_text|>", )" + members + "}");
    return load_tokenizer(theirs.path()).prefix();
  };
  std::filesystem::remove(theirs / "config.json");
  CHECK(prefix_with(R"("tokenizer_class": "LlamaTokenizerFast", "add_bos_token": true)") == Tokens{515});
  CHECK(prefix_with(R"("tokenizer_class": "LlamaTokenizer")") == Tokens{515});
  CHECK(prefix_with(R"("tokenizer_class": "LlamaTokenizer", "add_bos_token": false)").empty());
  CHECK(prefix_with(R"("tokenizer_class": "PreTrainedTokenizerFast")").empty());
  CHECK_ERROR(prefix_with(R"("tokenizer_class": "LlamaTokenizer", "add_eos_token": true)"), "add_eos_token");
  std::filesystem::remove(theirs / "tokenizer_config.json");
  write_file(theirs / "added_tokens.json", R"({"<a>": 300})");
  CHECK_ERROR(load_tokenizer(theirs.path()), "must be an added token of tokenizer.json");
}

TEST_CASE("generation_config.json ends texts, and what it forbids or forces is refused", "[needs.formats]") {
  const TemporaryFolder folder;
  write_file(folder / "vocab.json", small_vocab("t o\n", {"<|endoftext|>"}));
  write_file(folder / "merges.txt", "t o\n");
  const auto load = [&](const std::string& text) {
    write_file(folder / "generation_config.json", text);
    return load_tokenizer(folder.path());
  };
  const std::vector<std::string> both = {"\n\"User:\"", "###"};
  const Tokenizer tokenizer =
      load(R"({"stop_strings": ["\n\"User:\"", "###"], "eos_token_id": 65, "temperature": 0.6})");
  CHECK(tokenizer.stop_strings() == both);
  CHECK(load(R"({"stop_strings": "###"})").stop_strings() == std::vector<std::string>{"###"});
  CHECK(load(R"({"stop_strings": null, "do_sample": true, "max_length": 20, "output_scores": true})")
            .stop_strings()
            .empty());
  // Of both kinds of folders, copies keep them.
  const TemporaryFolder theirs;
  std::filesystem::copy(gradus::testing::test_files() / "data/theirs/llama3/tokenizer.json",
                        theirs / "tokenizer.json");
  write_file(theirs / "generation_config.json",
             R"({"stop_strings": ["\n\"User:\"", "###"], "eos_token_id": 65})");
  for (const Tokenizer& one : {tokenizer, load_tokenizer(theirs.path())}) {
    const TemporaryFolder copy;
    save_tokenizer(one, copy.path());
    CHECK(load_tokenizer(copy.path()).stop_strings() == both);
    CHECK(load_tokenizer(copy.path()).eos() == Tokens{65});
  }
  for (const char* name : {"suppress_tokens", "begin_suppress_tokens", "bad_words_ids", "forced_eos_token_id",
                           "sequence_bias", "guidance_scale", "a_field_of_2030"})
    CHECK_ERROR(load(gradus::concat("{\"", name, "\": [1]}")),
                gradus::concat(name, " is not read and may change the meaning"));
  CHECK_ERROR(load(R"({"stop_strings": ["#", ""]})"), "stop_strings[1] must not be empty,");
  CHECK_ERROR(load(R"({"stop_strings": [7]})"), "stop_strings[0] must be a string, got 7.");
  std::string many = "0";
  for (int i = 1; i < 64; ++i) many += gradus::concat(",", i);
  CHECK(load("{\"eos_token_id\": [" + many + "]}").eos().size() == 64);
  CHECK_ERROR(load("{\"eos_token_id\": [" + many + ", 64]}"), "eos_token_id[64] must be one of at most 64.");
}

TEST_CASE("GPT-2's files are refused with the reason") {
  const std::string vocab = small_vocab(kMerges);
  CHECK(gpt2_error(vocab, kMerges) == "no error");
  CHECK(gpt2_error("{}", "") ==
        "[vocabulary] v.json must have all 256 bytes, got none for 0x00, '\xC4\x80'.");
  CHECK(gpt2_error(with(vocab, ": 3,", ": 2,"), kMerges) ==
        "[vocabulary] v.json: '$' must differ from other tokens' numbers, got 2, which '#' has.");
  CHECK(gpt2_error(with(vocab, ": 3,", ": 260,"), kMerges) ==
        "[vocabulary] v.json: '$' must be a whole number from 0 to 259, got 260.");
  CHECK(gpt2_error(with(vocab, "\"##\"", "\"\""), "a b\nab c\n\xC4\xA0 a\n") ==
        "[vocabulary] v.json must have bytes, results of merges and special tokens only, got ''.");

  const auto merge = [&](const std::string& line) { return gpt2_error(vocab, "#version: 0.2\n" + line); };
  const std::string line = "[merges] m.txt: line ";
  CHECK(merge("a b c\n") == line + "2 must be two tokens with a space between them, got 'a b c'.");
  CHECK(merge("a b\n\n") == line + "3 must be two tokens with a space between them, got ''.");
  CHECK(merge("a b\r\r\n") == line + "3 must be two tokens with a space between them, got ''.");
  CHECK(merge("b c\n") == line + "2 must make a token of the vocabulary, got 'bc', which is none.");
  CHECK(merge("ab c\n") == line + "2 must join bytes or results of earlier merges, got 'ab'.");
  CHECK(merge("a b\na b\n") == line + "3 must not be listed twice, got 'a' and 'b' again.");
  CHECK(gpt2_error(vocab, std::string(1, '\0')) ==
        line + "1 must be two tokens with a space between them, got '\\x00'.");
}

TEST_CASE("a tokenizer.json is read where it does what GPT-2 does", "[needs.formats]") {
  const Tokenizer tokenizer = pairs_tokenizer();
  const std::string json = tokenizer.to_tokenizer_json();
  const auto read = [](const std::string& text) { return Tokenizer::from_tokenizer_json(text); };
  CHECK(read(with(json, "    \"type\": \"BPE\",\n", "")) == tokenizer);
  CHECK(read(with(json, "\"unk_token\": null", "\"unk_token\": \"<|endoftext|>\"")) == tokenizer);
  CHECK(read(with(json, "\"a b\"", "[\"a\", \"b\"]")) == tokenizer);
  CHECK(read(with(json, "\"dropout\": null", "\"dropout\": 0.0")) == tokenizer);
  CHECK(read(with(json, "\"end_of_word_suffix\": null", "\"end_of_word_suffix\": \"\"")) == tokenizer);
  CHECK(read(with(json, "\"post_processor\": null",
                  "\"post_processor\": {\"type\": \"ByteLevel\", \"trim_offsets\": false}")) == tokenizer);
  CHECK(read(with(json, ", \"use_regex\": true", "")) == tokenizer);
  CHECK(read(with(json, ",\n      \"<|endoftext|>\": 260", "")) == tokenizer);  // an added token only
}

TEST_CASE("what a training left in a tokenizer.json and what a checkout did to merges.txt change no token",
          "[needs.formats]") {
  const Tokenizer tokenizer = pairs_tokenizer();
  std::string json =
      with(tokenizer.to_tokenizer_json(), "\"truncation\": null",
           R"("truncation": {"direction": "Right", "max_length": 4, "strategy": "LongestFirst"})");
  json = with(json, "\"padding\": null",
              R"("padding": {"strategy": {"Fixed": 8}, "pad_id": 0, "pad_token": "a"})");
  CHECK(Tokenizer::from_tokenizer_json(json) == tokenizer);
  std::string merges = tokenizer.to_merges();
  for (size_t at = 0; (at = merges.find('\n', at)) != merges.npos; at += 2) merges.insert(at, "\r");
  CHECK(Tokenizer::from_gpt2(tokenizer.to_json(), merges) == tokenizer);
  std::string cr = merges;
  std::erase(cr, '\n');
  CHECK(Tokenizer::from_gpt2(tokenizer.to_json(), cr) == tokenizer);
  merges.resize(merges.size() - 2);  // the last line has no end
  CHECK(Tokenizer::from_gpt2(tokenizer.to_json(), merges) == tokenizer);
}

TEST_CASE("a tokenizer.json is refused with the reason", "[needs.formats]") {
  const std::string json = pairs_tokenizer().to_tokenizer_json();
  const auto changed = [&](const std::string& from, const std::string& to) {
    return json_error(with(json, from, to));
  };
  const std::string file = "[tokenizer] t.json: ";
  CHECK(json_error("") ==
        "[tokenizer] t.json must be JSON, got the end at line 1, column 1: unexpected end of input; expected "
        "'[', '{', or a literal.");
  CHECK(json_error("{\"model\": []}") == file + "model must be a BPE, got a list of 0.");
  CHECK(changed("\"type\": \"BPE\"", "\"type\": \"WordPiece\"") ==
        file + "model, type must be BPE, got 'WordPiece'.");
  CHECK_HAS(changed("\"version\"", "\"versions\""), "must have no field 'versions'");
  CHECK(changed("\"pre_tokenizer\": {\"type\": \"ByteLevel\"",
                "\"pre_tokenizer\": {\"type\": \"Whitespace\"") ==
        file +
            "pre_tokenizer, type must be Split, Digits, ByteLevel or a Sequence of them, got 'Whitespace'.");
  CHECK(changed("\"add_prefix_space\": false", "\"add_prefix_space\": true") ==
        file + "pre_tokenizer, add_prefix_space must be null or off, got true.");
  CHECK(changed("\"post_processor\": null", "\"post_processor\": {\"type\": \"BertProcessing\"}") ==
        file +
            "post_processor, type must be ByteLevel, TemplateProcessing or a Sequence of them, got "
            "'BertProcessing'.");
  CHECK(changed("\"byte_fallback\": false", "\"byte_fallback\": true") ==
        file + "model must have either byte_fallback or a ByteLevel before it, got both.");
  CHECK(changed("\"lstrip\": false", "\"lstrip\": true") ==
        file + "added_tokens[0], lstrip must be null or off, got true.");
  CHECK(changed("{\"id\": 260", "{\"id\": 0") ==
        file + "added_tokens[0], id must be the same token in the vocabulary, got 0 for '<|endoftext|>'.");
  CHECK(changed("{\"id\": 260, \"content\": \"<|endoftext|>\"", "{\"id\": 70000, \"content\": \"<|x|>\"") ==
        file + "added_tokens[0], id must be a number in [0, 65798), got 70000.");
  CHECK_HAS(changed("{\"id\": 260, \"content\": \"<|endoftext|>\"", "{\"id\": 256, \"content\": \"ab\""),
            "must be neither a byte nor joined by a merge nor listed twice, got 'ab'.");
  CHECK_HAS(changed("\"ab c\"", "\"abc\""),
            "model, merges[1] must join tokens of the vocabulary, got '', which is none.");
  CHECK(changed("\"ab c\"", "[\"ab\", \"c\", \"d\"]") ==
        file + "model, merges[1] must be two tokens, got a list of 3.");

  const std::string characters = Tokenizer::characters("ab\n").to_tokenizer_json();
  CHECK_HAS(json_error(with(characters, "\"a\": 1", "\"ab\": 1")), "must be the number of one character");
  CHECK_HAS(json_error(with(characters, "\"a\": 1", "\"a\": 0")),
            "must differ from other tokens' numbers, got 0 again.");
  CHECK(json_error(with(characters, "\"a\": 1", "\"z\": 1")) ==
        file + "model, vocab must number characters in their order, got another.");
  CHECK_HAS(json_error(with(characters, "\"merges\": []", "\"merges\": [\"a b\"]")),
            "must be empty without a pre_tokenizer");
  CHECK(json_error(with(characters, "\"unk_token\": null", "\"unk_token\": \"a\"")) ==
        file + "model, unk_token must be null or off, got 'a'.");
}

}  // namespace test_tokenizer_files
