// The files of tokenizers: vocab.json and merges.txt, GPT-2's or our own. (tokenizer_json.cpp has Hugging
// Face's.)
#include <algorithm>

#include "gradus/data/pairs/byte_letters.hpp"
#include "gradus/data/pairs/byte_pairs.hpp"
#include "gradus/data/pairs/vocabulary.hpp"
#include "gradus/data/tokenizer.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/json.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/files/utf8.hpp"

namespace gradus::data {
namespace {

constexpr std::string_view kVersion = "#version: 0.2";

/// The merges of a merges.txt: a line for each, its two parts with a space between them.
void read_merges(std::string_view text, const std::string& file, pairs::Vocabulary& vocabulary) {
  for (int64_t line_number = 1; !text.empty(); ++line_number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    // Only there: "# #" and the like are merges.
    if (line_number == 1 && line.starts_with("#version")) continue;
    const size_t space = line.find(' ');
    const bool is_pair = space != line.npos && line.find(' ', space + 1) == line.npos;
    const std::string wrong =
        is_pair ? vocabulary.add_merge(line.substr(0, space), line.substr(space + 1))
                : concat("must be two tokens with a space between them, got ", files::in_quotes(line), ".");
    if (!wrong.empty()) fail("merges", files::plain(file), ": line ", line_number, " ", wrong);
  }
}

}  // namespace

std::string Tokenizer::to_json() const {
  if (!pairs_ && characters_.empty()) return "{\n  \"tokenizer\": \"byte\"\n}\n";
  if (!pairs_) {
    std::string text;
    for (const char32_t c : characters_) text += files::to_utf8(c);
    return concat("{\n  \"tokenizer\": \"char\",\n  \"characters\": ", files::json_text(text), "\n}\n");
  }
  return pairs::numbered(pairs::letters(*pairs_), "") + "\n";
}

std::string Tokenizer::to_merges() const {
  if (!pairs_) return "";
  std::string text = concat(kVersion, "\n");
  for (const pairs::Merge& merge : pairs_->merges())
    text += concat(pairs::letters_of(pairs_->text(merge.left)), " ",
                   pairs::letters_of(pairs_->text(merge.right)), "\n");
  return text;
}

Tokenizer Tokenizer::from_json(std::string_view text, const std::string& file) {
  const files::Json json(text, "vocabulary", file);
  const files::Field root = json.root(), kind = root.at("tokenizer");
  if (kind.text() != "char" && kind.text() != "byte")
    kind.refuse("must be char or byte, got ", kind.shown(), ".");
  if (kind.text() == "byte") {
    root.must_have_only({"tokenizer"});
    return bytes();
  }
  root.must_have_only({"tokenizer", "characters"});

  const files::Field field = root.at("characters");
  std::u32string characters;
  std::string_view rest = field.text();
  while (!rest.empty()) {
    const files::CodePoint c = files::first_code_point(rest);  // JSON is UTF-8.
    if (!characters.empty() && c.value <= characters.back())
      field.refuse("must ascend, got ", files::quoted(c.value), " after ", files::quoted(characters.back()),
                   ".");
    characters += c.value;
    rest.remove_prefix(static_cast<size_t>(c.size));
  }
  if (characters.empty()) field.refuse("must not be empty.");
  return Tokenizer(std::move(characters));
}

Tokenizer Tokenizer::from_gpt2(std::string_view vocab, std::string_view merges, const std::string& vocab_file,
                               const std::string& merges_file) {
  const files::Json json(vocab, "vocabulary", vocab_file);
  pairs::Vocabulary vocabulary(json.root());
  read_merges(merges, merges_file, vocabulary);
  return Tokenizer(vocabulary.take(/*only_added=*/false));
}

}  // namespace gradus::data
