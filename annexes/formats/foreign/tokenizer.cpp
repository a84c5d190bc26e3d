// tokenizer.json, the file of Hugging Face's `tokenizers`, and nanoGPT's meta.pkl.
#include <algorithm>
#include <utility>

#include "gradus/annexes/formats/foreign/pickle.hpp"
#include "gradus/annexes/formats/foreign/read_rules.hpp"
#include "gradus/annexes/formats/foreign/readers.hpp"
#include "gradus/data/pairs/byte_pairs.hpp"
#include "gradus/data/pairs/vocabulary.hpp"
#include "gradus/data/tokenizer.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/json.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/files/utf8.hpp"

namespace gradus::foreign {

using data::Tokenizer;
namespace pairs = data::pairs;

namespace {

using files::Field;

/// Refuses models other than BPE, whose type may be missing in old files.
void check_model(const Field& model) {
  if (!model.is_object()) model.refuse("must be a BPE, got ", model.shown(), ".");
  if (model.has("type") || !model.has("merges"))
    if (const Field type = model.at("type"); type.text() != "BPE")
      type.refuse("must be BPE, got ", type.shown(), ".");
  for (const char* key : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"})
    must_be_off(model, key);
  model.must_have_only({"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
                        "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"});
}

void read_merges(const Field& merges, pairs::Vocabulary& vocabulary) {
  for (const Field& merge : merges.items()) {
    std::string_view left, right;
    if (merge.is_list()) {
      const std::vector<Field> parts = merge.items();
      if (parts.size() != 2) merge.refuse("must be two tokens, got ", merge.shown(), ".");
      left = parts[0].text(), right = parts[1].text();
    } else {
      const size_t space = std::min(merge.text().find(' '), merge.text().size());
      left = merge.text().substr(0, space);
      right = merge.text().substr(std::min(space + 1, merge.text().size()));
    }
    if (const std::string wrong = vocabulary.add_merge(left, right); !wrong.empty()) merge.refuse(wrong);
  }
}

std::vector<pairs::AddedToken> read_added(const Field& root) {
  std::vector<pairs::AddedToken> tokens;
  const auto added = root.given("added_tokens");
  if (!added) return tokens;
  for (const Field& token : added->items()) {
    for (const char* key : {"single_word", "lstrip", "rstrip"}) must_be_off(token, key);
    const auto normalized = token.given("normalized");
    tokens.push_back({.text = std::string(token.at("content").text()),
                      .token = static_cast<int32_t>(token.at("id").integer(0, Tokenizer::kMostPairs)),
                      .special = token.at("special").flag(),
                      .normalized = normalized && normalized->flag()});
  }
  return tokens;
}

/// The characters of a model without merges, which must be in order.
std::string read_characters(const Field& vocab) {
  std::u32string characters(vocab.size(), U'\0');
  std::vector<bool> known(vocab.size());
  if (known.empty()) vocab.refuse("must not be empty.");
  for (const auto& [text, number] : vocab.members()) {
    const files::CodePoint c = files::first_code_point(text);
    if (c.size == 0 || static_cast<size_t>(c.size) != text.size())
      number.refuse("must be the number of one character, got ", number.shown(), ".");
    const auto token = static_cast<size_t>(number.integer(0, static_cast<int64_t>(known.size()) - 1));
    if (known[token]) number.refuse("must differ from other tokens' numbers, got ", token, " again.");
    known[token] = true;
    characters[token] = c.value;
  }
  if (!std::is_sorted(characters.begin(), characters.end()))
    vocab.refuse("must number characters in their order, got another.");
  std::string text;
  for (const char32_t c : characters) text += files::to_utf8(c);
  return text;
}

}  // namespace

Tokenizer tokenizer_json(std::string_view text, const std::string& file) {
  const files::Json json(text, "tokenizer", file);
  const Field root = json.root(), model = root.at("model");
  check_model(model);
  root.must_have_only({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
                       "post_processor", "decoder", "model"});
  // Fine-tuned models have truncation and padding of their training; transformers switches both off in calls.
  const Field vocab = model.at("vocab"), merges = model.at("merges");
  std::vector<pairs::AddedToken> added = read_added(root);
  Tokenizer tokenizer = Tokenizer::bytes();
  if (is_of_characters_only(root)) {
    must_be_off(model, "unk_token");
    if (merges.size() > 0) merges.refuse("must be empty without a pre_tokenizer, got ", merges.size(), ".");
    std::vector<std::string> texts;
    for (const pairs::AddedToken& token : added) texts.push_back(token.text);
    tokenizer = Tokenizer::characters(read_characters(vocab)).with_special(texts);
    const std::vector<int32_t> tokens = tokenizer.special_tokens();
    for (size_t i = 0; i < added.size(); ++i)
      if (i >= tokens.size() || tokens[i] != added[i].token || !added[i].special)
        root.at("added_tokens").items()[i].refuse("must be special, with the number after those before it.");
  } else {
    pairs::Vocabulary vocabulary(vocab, /*strict=*/false, added.size(), read_rules(root));
    read_merges(merges, vocabulary);
    for (size_t i = 0; i < added.size(); ++i)
      if (const std::string wrong = vocabulary.add(added[i]); !wrong.empty())
        root.at("added_tokens").items()[i].at("id").refuse(wrong);
    tokenizer = Tokenizer::of_pairs(vocabulary.take());
    std::vector<std::string> texts;
    for (const int32_t token : tokenizer.special_tokens()) texts.push_back(tokenizer.decode({&token, 1}));
    const auto& of_byte = tokenizer.pairs().model().of_byte;
    const bool in_order =
        std::is_sorted(of_byte.begin(), of_byte.end()) && of_byte.back() == pairs::kBytes - 1;
    const bool has_more = tokenizer.vocab_size() != pairs::kBytes + static_cast<int64_t>(texts.size());
    if (merges.size() == 0 && in_order && !has_more && tokenizer.pairs().follows_gpt2())
      tokenizer = Tokenizer::bytes().with_special(texts);
  }
  Template around = read_template(root, tokenizer.vocab_size());
  return tokenizer.with_json(text, std::move(around.prefix), std::move(around.suffix));
}

/// The characters of nanoGPT's meta.pkl, in the order of their numbers.
Tokenizer tokenizer_pickle(std::string_view bytes, const std::string& file) {
  const Pickle meta = read_pickle(bytes, file);
  const auto refuse = [&](const auto&... parts) { fail("tokenizer", files::plain(file), ": ", parts...); };
  std::string characters;
  size_t count = 0;
  for (; meta.values.contains(concat("itos.", count)); ++count) {
    const std::string& text = meta.values.at(concat("itos.", count));
    const auto size = static_cast<size_t>(files::first_code_point(text).size);
    const auto number = meta.values.find(concat("stoi.", text));
    if (size == 0 || size != text.size() ||
        (number != meta.values.end() && number->second != std::to_string(count)))
      refuse("itos must have one character for each number, and stoi its number, got ",
             files::in_quotes(text), " for ", count, ".");
    characters += text;
  }
  const auto others =
      std::ranges::count_if(meta.values, [](const auto& one) { return one.first.starts_with("itos."); });
  if (count == 0 || others != static_cast<int64_t>(count))
    refuse("itos must be a dictionary with the characters of 0, 1 and so on, got ", count, " of ", others,
           ".");
  return Tokenizer::from_json(
      concat(R"({"tokenizer":"char","characters":)", files::json_text(characters), "}"), file);
}

}  // namespace gradus::foreign

namespace gradus::files {

const ForeignTokenizers& foreign_tokenizers() {
  static constexpr ForeignTokenizers kReaders{.tokenizer_json = foreign::tokenizer_json,
                                              .tokenizer_pickle = foreign::tokenizer_pickle};
  return kReaders;
}

}  // namespace gradus::files
