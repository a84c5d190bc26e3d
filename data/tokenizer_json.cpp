// tokenizer.json, the file of Hugging Face's `tokenizers`, which is written for every kind of tokenizer. The
// annex `formats` reads it.
#include "gradus/data/kept_files.hpp"
#include "gradus/data/pairs/byte_pairs.hpp"
#include "gradus/data/pairs/vocabulary.hpp"
#include "gradus/data/tokenizer.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/foreign_formats.hpp"
#include "gradus/files/json.hpp"

namespace gradus::data {
namespace {

using files::json_text;

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

}  // namespace

std::string Tokenizer::to_tokenizer_json() const {
  if (const auto kept = files_->texts.find(kTokenizerJson); kept != files_->texts.end()) return kept->second;
  std::vector<std::string> texts;
  if (!pairs_) {
    for (int32_t token = 0; token < plain_tokens(); ++token)
      texts.push_back(characters_.empty() ? pairs::letters_of(text_of(token)) : text_of(token));
    return file_text(added_tokens(*this), characters_.empty(), texts, "");
  }
  std::string merges;
  for (const pairs::Merge& merge : pairs_->model().merges)
    merges += concat(merges.empty() ? "\n      " : ",\n      ",
                     json_text(concat(pairs_->letters(merge.left), " ", pairs_->letters(merge.right))));
  if (!merges.empty()) merges += "\n    ";
  return file_text(added_tokens(*this), true, vocabulary(), merges);
}

Tokenizer Tokenizer::from_tokenizer_json(std::string_view text, const std::string& file) {
  return files::needed(files::foreign_tokenizers().tokenizer_json, "tokenizer",
                       concat(file, ", of Hugging Face's tokenizers,"))(text, file);
}

Tokenizer Tokenizer::of_pairs(pairs::BytePairs pairs) { return Tokenizer(std::move(pairs)); }

Tokenizer Tokenizer::with_json(std::string_view text, std::vector<int32_t> prefix,
                               std::vector<int32_t> suffix) const {
  auto files = std::make_shared<Files>();
  files->prefix = std::move(prefix);
  files->suffix = std::move(suffix);
  if ((pairs_ && !pairs_->follows_gpt2()) || to_tokenizer_json() != text) files->texts[kTokenizerJson] = text;
  Tokenizer result = *this;
  result.files_ = std::move(files);
  return result;
}

}  // namespace gradus::data
