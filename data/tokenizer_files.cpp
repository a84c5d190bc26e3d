// The files of tokenizers: vocab.json and merges.txt, of GPT-2 or gradus, and whole folders.
// tokenizer_json.cpp has tokenizer.json, tokenizer_configs.cpp the configs beside it.
#include <algorithm>

#include "gradus/data/kept_files.hpp"
#include "gradus/data/pairs/byte_pairs.hpp"
#include "gradus/data/pairs/vocabulary.hpp"
#include "gradus/data/tokenizer.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/folder.hpp"
#include "gradus/files/foreign_formats.hpp"
#include "gradus/files/json.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/files/utf8.hpp"

namespace gradus::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMeta = "meta.pkl";

/// Reads the merges of a merges.txt: one per line, which ends in LF or CR LF, two tokens with a space between
/// them. GPT-2's letters have no CR.
void read_merges(std::string_view text, const std::string& file, pairs::Vocabulary& vocabulary) {
  for (int64_t line_number = 1; !text.empty(); ++line_number) {
    const size_t end = std::min(text.find_first_of("\r\n"), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + (text.substr(end).starts_with("\r\n") ? 2 : 1), text.size()));
    // Elsewhere lines like "# #" are merges.
    if (line_number == 1 && line.starts_with("#version")) continue;
    const size_t space = line.find(' ');
    const bool is_pair = space != line.npos && line.find(' ', space + 1) == line.npos;
    const std::string wrong =
        is_pair ? vocabulary.add_merge(line.substr(0, space), line.substr(space + 1))
                : concat("must be two tokens with a space between them, got ", files::in_quotes(line), ".");
    if (!wrong.empty()) fail("merges", files::plain(file), ": line ", line_number, " ", wrong);
  }
}

std::string path_of(const files::FolderSnapshot& folder, const std::string& name) {
  return (folder.folder() / name).string();
}

/// Our vocab.json has the kind as "tokenizer"; GPT-2's has numbers of tokens, even of a token "tokenizer".
bool is_ours(const std::string& vocab, const std::string& file) {
  const files::Json json(vocab, "vocabulary", file);
  const auto kind = json.root().find("tokenizer");
  return kind && !kind->is_integer();
}

/// Whether a tokenizer.json may be what gradus writes beside vocab.json and merges.txt: its lines end
/// elsewhere than in other programs' files.
bool may_be_ours(std::string_view tokenizer_json) {
  return tokenizer_json.starts_with("{\n  \"version\"") &&
         tokenizer_json.find("\"pre_tokenizer\": {\"type\"") != tokenizer_json.npos;
}

Tokenizer read_gpt2(const files::FolderSnapshot& folder, const std::string& name, const std::string& vocab) {
  const char* merges = folder.has("merges.txt") ? "merges.txt" : "vocab.bpe";
  if (!folder.has(merges))
    fail("tokenizer", folder.folder(), " must have merges.txt (or vocab.bpe) next to ", name,
         ", whose tokens are byte pairs, got neither.");
  return Tokenizer::from_gpt2(vocab, folder.text(merges), path_of(folder, name), path_of(folder, merges));
}

Tokenizer read_meta(const std::string& bytes, const std::string& file) {
  return files::needed(files::foreign_tokenizers().tokenizer_pickle, "tokenizer",
                       concat(file, ", a pickle of nanoGPT,"))(bytes, file);
}

}  // namespace

std::string Tokenizer::to_json() const {
  if (!pairs_) {
    std::string text, specials;
    for (const char32_t c : characters_) text += files::to_utf8(c);
    for (const std::string& special : specials_)
      specials += concat(specials.empty() ? ",\n  \"special\": [" : ", ", files::json_text(special));
    return concat("{\n  \"tokenizer\": \"", kind(), "\"",
                  text.empty() ? "" : concat(",\n  \"characters\": ", files::json_text(text)), specials,
                  specials.empty() ? "" : "]", "\n}\n");
  }
  return pairs::numbered(vocabulary(), "") + "\n";
}

std::string Tokenizer::to_merges() const {
  if (!pairs_) return "";
  std::string text = "#version: 0.2\n";
  for (const pairs::Merge& merge : pairs_->model().merges)
    text += concat(pairs_->letters(merge.left), " ", pairs_->letters(merge.right), "\n");
  return text;
}

std::vector<std::string> Tokenizer::vocabulary() const {
  std::vector<std::string> texts;
  for (int32_t token = 0; token < vocab_size(); ++token)
    texts.push_back(pairs_ ? pairs_->letters(token) : text_of(token));
  return texts;
}

Tokenizer Tokenizer::from_json(std::string_view text, const std::string& file) {
  const files::Json json(text, "vocabulary", file);
  const files::Field root = json.root(), kind = root.at("tokenizer");
  if (kind.text() != "char" && kind.text() != "byte")
    kind.refuse("must be char or byte, got ", kind.shown(), ".");
  const std::vector<std::string> specials =
      root.has("special") ? root.at("special").texts() : std::vector<std::string>();
  if (kind.text() == "byte") {
    root.must_have_only({"tokenizer", "special"});
    return bytes().with_special(specials);
  }
  root.must_have_only({"tokenizer", "characters", "special"});

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
  return Tokenizer(std::move(characters)).with_special(specials);
}

Tokenizer Tokenizer::from_gpt2(std::string_view vocab, std::string_view merges, const std::string& vocab_file,
                               const std::string& merges_file) {
  const files::Json json(vocab, "vocabulary", vocab_file);
  pairs::Vocabulary vocabulary(json.root());
  read_merges(merges, merges_file, vocabulary);
  return Tokenizer(vocabulary.take());
}

std::map<std::string, std::string> tokenizer_files(const Tokenizer& tokenizer) {
  std::map<std::string, std::string> files = tokenizer.files_->texts;
  if (files.contains(kTokenizerJson)) return files;
  files = config_files(tokenizer, *tokenizer.files_);
  files["vocab.json"] = tokenizer.to_json();
  files[kTokenizerJson] = tokenizer.to_tokenizer_json();
  if (std::string merges = tokenizer.to_merges(); !merges.empty()) files["merges.txt"] = std::move(merges);
  return files;
}

void save_tokenizer(const Tokenizer& tokenizer, const fs::path& folder) {
  files::make_folders(folder);
  files::FolderUpdate update(folder);
  std::map<std::string, std::string> texts = tokenizer_files(tokenizer);
  if (const auto first = texts.extract(kTokenizerConfig)) update.write(first.key(), first.mapped());
  for (const auto& [name, text] : texts) update.write(name, text);  // of which one makes it a tokenizer
  update.commit();
}

bool has_tokenizer(const files::FolderSnapshot& folder) {
  for (const char* name : {"vocab.json", "encoder.json", "tokenizer.json", kMeta})
    if (folder.has(name) || folder.checksum(name)) return true;
  return false;
}

Tokenizer read_tokenizer(const files::FolderSnapshot& folder) {
  std::map<std::string, std::string> more;
  for (const char* name :
       {kTokenizerConfig, kGenerationConfig, kChatTemplate, kSpecialTokens, kAddedTokens, kModelConfig})
    if (folder.has(name)) more[name] = folder.text(name);
  const bool has_json = folder.has(kTokenizerJson) || folder.checksum(kTokenizerJson);
  for (const std::string name : {"vocab.json", "encoder.json"}) {
    if (!folder.has(name) && !folder.checksum(name)) continue;  // A listed file that is missing is an error.
    const std::string text = folder.text(name), path = path_of(folder, name);
    if (is_ours(text, path)) return Tokenizer::from_json(text, path).with_files(more, folder.folder());
    if (!has_json || may_be_ours(folder.text(kTokenizerJson)))
      if (Tokenizer pairs = read_gpt2(folder, name, text);
          !has_json || pairs.to_tokenizer_json() == folder.text(kTokenizerJson))
        return pairs.with_files(more, folder.folder());
  }
  if (has_json)
    return Tokenizer::from_tokenizer_json(folder.text(kTokenizerJson), path_of(folder, kTokenizerJson))
        .with_files(more, folder.folder());
  if (folder.has(kMeta)) return read_meta(folder.text(kMeta), path_of(folder, kMeta));
  fail("tokenizer", folder.folder(), " must have vocab.json or tokenizer.json, got neither.");
}

Tokenizer load_tokenizer(const fs::path& from) {
  std::error_code ignored;
  if (fs::is_directory(from, ignored)) return files::read_folder(from, read_tokenizer);
  try {
    const std::string bytes = files::read_input(from);
    const bool is_pickle =
        bytes.starts_with('\x80') || (from.extension() == ".pkl" && !bytes.starts_with('{'));
    return is_pickle ? read_meta(bytes, from.string()) : Tokenizer::from_tokenizer_json(bytes, from.string());
  } catch (const files::Unreadable& e) {
    fail("tokenizer", from, " must be a folder or a tokenizer.json, got '", e.reason(), "'.");
  }
}

}  // namespace gradus::data
