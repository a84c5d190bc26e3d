// tokenizer.json, the file of Hugging Face's `tokenizers`: written for every kind of tokenizer, and read for
// tokenizers of gradus and those with GPT-2's pattern.
#include <algorithm>

#include "gradus/data/pairs/byte_pairs.hpp"
#include "gradus/data/pairs/vocabulary.hpp"
#include "gradus/data/tokenizer.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/json.hpp"
#include "gradus/files/utf8.hpp"

namespace gradus::data {
namespace {

using files::Field;
using files::json_text;

// -- writing

std::string added_tokens(const Tokenizer& tokenizer) {
  std::string json;
  for (const int32_t token : tokenizer.special_tokens())
    json += concat(json.empty() ? "" : ",", "\n    {\"id\": ", token,
                   ", \"content\": ", json_text(tokenizer.decode({&token, 1})),
                   ", \"single_word\": false, \"lstrip\": false, \"rstrip\": false, \"normalized\": false, "
                   "\"special\": true}");
  return json.empty() ? "[]" : "[" + json + "\n  ]";
}

/// The whole file. Every model has the type BPE; without merges each character is a token.
std::string file_text(std::string_view added, bool of_bytes, const std::vector<std::string>& vocab,
                      std::string_view merges) {
  constexpr std::string_view kByteLevel =
      R"({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true})";
  return concat(
      "{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n  \"padding\": null,\n  \"added_tokens\": ",
      added, ",\n  \"normalizer\": null,\n  \"pre_tokenizer\": ", of_bytes ? kByteLevel : "null",
      ",\n  \"post_processor\": null,\n  \"decoder\": ", of_bytes ? kByteLevel : R"({"type": "Fuse"})",
      ",\n  \"model\": {\n    \"type\": \"BPE\",\n    \"dropout\": null,\n    \"unk_token\": null,\n    "
      "\"continuing_subword_prefix\": null,\n    \"end_of_word_suffix\": null,\n    \"fuse_unk\": "
      "false,\n    \"byte_fallback\": false,\n    \"ignore_merges\": false,\n    \"vocab\": ",
      pairs::numbered(vocab, "    "), ",\n    \"merges\": [", merges, "]\n  }\n}\n");
}

// -- reading

/// Refuses the field unless it is null, false, "" or absent: its feature is not supported.
void must_be_off(const Field& object, std::string_view key) {
  const std::optional<Field> field = object.find(key);
  if (!field || field->is_null() || (field->is_flag() && !field->flag())) return;
  if (field->is_text() && field->text().empty()) return;
  field->refuse("must be null or off, got ", field->shown(), ".");
}

/// Refuses the field unless it is an object of this "type".
void must_be_a(const Field& field, std::string_view type) {
  if (!field.is_object()) field.refuse("must be a ", type, ", got ", field.shown(), ".");
  const Field name = field.at("type");
  if (name.text() != type) name.refuse("must be ", type, ", got ", name.shown(), ".");
}

/// Refuses models other than BPE, whose type may be missing in old files.
void check_model(const Field& model) {
  if (!model.is_object() || model.has("type") || !model.has("merges")) must_be_a(model, "BPE");
  for (const char* key :
       {"dropout", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback", "ignore_merges"})
    must_be_off(model, key);
  model.must_have_only({"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
                        "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"});
}

bool is_given(const Field& root, std::string_view key) {
  const std::optional<Field> field = root.find(key);
  return field && !field->is_null();
}

/// Refuses steps other than GPT-2's before and after the model.
void check_pipeline(const Field& root, bool of_bytes) {
  for (const char* key : {"truncation", "padding", "normalizer"}) must_be_off(root, key);
  if (is_given(root, "post_processor")) must_be_a(root.at("post_processor"), "ByteLevel");
  if (is_given(root, "decoder")) must_be_a(root.at("decoder"), of_bytes ? "ByteLevel" : "Fuse");
  if (!of_bytes) return;
  const Field words = root.at("pre_tokenizer");
  must_be_a(words, "ByteLevel");
  must_be_off(words, "add_prefix_space");
  if (words.has("use_regex") && !words.at("use_regex").flag())
    words.at("use_regex").refuse("must be true, got false.");
}

void read_merges(const Field& merges, pairs::Vocabulary& vocabulary) {
  for (const Field& merge : merges.items()) {
    std::vector<std::string> parts;
    if (merge.is_list()) {
      parts = merge.texts();
    } else {
      const std::string_view text = merge.text();
      const size_t space = std::min(text.find(' '), text.size());
      parts = {std::string(text.substr(0, space)),
               std::string(text.substr(std::min(space + 1, text.size())))};
    }
    if (parts.size() != 2) merge.refuse("must be two tokens, got ", merge.shown(), ".");
    if (const std::string wrong = vocabulary.add_merge(parts[0], parts[1]); !wrong.empty())
      merge.refuse(wrong);
  }
}

void read_added(const std::vector<Field>& added, pairs::Vocabulary& vocabulary) {
  for (const Field& token : added) {
    for (const char* key : {"single_word", "lstrip", "rstrip"}) must_be_off(token, key);
    if (!token.at("special").flag()) token.at("special").refuse("must be true, got false.");
    const Field id = token.at("id");
    const std::string wrong = vocabulary.add_special(token.at("content").text(), id.integer());
    if (!wrong.empty()) id.refuse(wrong);
  }
}

/// The characters of a model without merges, which must be in order.
std::u32string read_characters(const Field& vocab) {
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
  return characters;
}

}  // namespace

std::string Tokenizer::to_tokenizer_json() const {
  std::vector<std::string> texts;
  if (!pairs_) {
    for (int32_t token = 0; token < plain_tokens(); ++token)
      texts.push_back(characters_.empty() ? pairs::letters_of(text_of(token)) : text_of(token));
    return file_text(added_tokens(*this), characters_.empty(), texts, "");
  }
  std::string merges;
  for (const pairs::Merge& merge : pairs_->merges())
    merges += concat(merges.empty() ? "\n      " : ",\n      ",
                     json_text(concat(pairs::letters_of(pairs_->text(merge.left)), " ",
                                      pairs::letters_of(pairs_->text(merge.right)))));
  if (!merges.empty()) merges += "\n    ";
  return file_text(added_tokens(*this), true, pairs::letters(*pairs_), merges);
}

Tokenizer Tokenizer::from_tokenizer_json(std::string_view text, const std::string& file) {
  const files::Json json(text, "tokenizer", file);
  const Field root = json.root(), model = root.at("model");
  check_model(model);
  root.must_have_only({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
                       "post_processor", "decoder", "model"});
  const Field vocab = model.at("vocab"), merges = model.at("merges");
  const std::vector<Field> added =
      is_given(root, "added_tokens") ? root.at("added_tokens").items() : std::vector<Field>();
  const bool of_bytes = is_given(root, "pre_tokenizer");
  check_pipeline(root, of_bytes);
  if (!of_bytes) {
    must_be_off(model, "unk_token");
    if (merges.size() > 0) merges.refuse("must be empty without a pre_tokenizer, got ", merges.size(), ".");
    if (!added.empty()) root.at("added_tokens").refuse("must be empty without a pre_tokenizer.");
    return Tokenizer(read_characters(vocab));
  }
  pairs::Vocabulary vocabulary(vocab, added.size());
  read_merges(merges, vocabulary);
  read_added(added, vocabulary);
  Tokenizer tokenizer(vocabulary.take(/*only_added=*/true));
  return tokenizer.to_tokenizer_json() == bytes().to_tokenizer_json() ? bytes() : tokenizer;
}

}  // namespace gradus::data
