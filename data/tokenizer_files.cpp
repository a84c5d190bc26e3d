// The files of tokenizers: vocab.json and merges.txt, of GPT-2 or gradus, and whole folders.
// tokenizer_json.cpp has tokenizer.json.
#include <algorithm>

#include "gradus/data/pairs/byte_pairs.hpp"
#include "gradus/data/pairs/vocabulary.hpp"
#include "gradus/data/tokenizer.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/json.hpp"
#include "gradus/files/pickle.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/files/utf8.hpp"

namespace gradus::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMeta = "meta.pkl";

/// Reads the merges of a merges.txt: one per line, two tokens with a space between them.
void read_merges(std::string_view text, const std::string& file, pairs::Vocabulary& vocabulary) {
  for (int64_t line_number = 1; !text.empty(); ++line_number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
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

Tokenizer read_gpt2(const files::FolderSnapshot& folder, const std::string& name, const std::string& vocab) {
  const char* merges = folder.has("merges.txt") ? "merges.txt" : "vocab.bpe";
  if (!folder.has(merges))
    fail("tokenizer", folder.folder(), " must have merges.txt (or vocab.bpe) next to ", name,
         ", whose tokens are byte pairs, got neither.");
  return Tokenizer::from_gpt2(vocab, folder.text(merges), path_of(folder, name), path_of(folder, merges));
}

/// The characters of nanoGPT's meta.pkl, in the order of their numbers.
Tokenizer read_meta(const std::string& bytes, const std::string& file) {
  const files::Pickle meta = files::read_pickle(bytes, file);
  std::string characters;
  for (size_t i = 0; meta.values.contains(concat("itos.", i)); ++i)
    characters += meta.values.at(concat("itos.", i));
  return Tokenizer::from_json(
      concat(R"({"tokenizer":"char","characters":)", files::json_text(characters), "}"), file);
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
  std::string text = "#version: 0.2\n";
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

std::map<std::string, std::string> tokenizer_files(const Tokenizer& tokenizer) {
  std::map<std::string, std::string> files{{"vocab.json", tokenizer.to_json()},
                                           {"tokenizer.json", tokenizer.to_tokenizer_json()},
                                           {"tokenizer_config.json",
                                            "{\n  \"tokenizer_class\": \"PreTrainedTokenizerFast\",\n  "
                                            "\"clean_up_tokenization_spaces\": false\n}\n"}};
  if (std::string merges = tokenizer.to_merges(); !merges.empty()) files["merges.txt"] = std::move(merges);
  return files;
}

void save_tokenizer(const Tokenizer& tokenizer, const fs::path& folder) {
  files::make_folders(folder);
  files::FolderUpdate update(folder);
  for (const auto& [name, text] : tokenizer_files(tokenizer)) update.write(name, text);
  update.commit();
}

bool has_tokenizer(const files::FolderSnapshot& folder) {
  for (const char* name : {"vocab.json", "encoder.json", "tokenizer.json", kMeta})
    if (folder.has(name) || folder.checksum(name)) return true;
  return false;
}

Tokenizer read_tokenizer(const files::FolderSnapshot& folder) {
  for (const std::string name : {"vocab.json", "encoder.json"}) {
    if (!folder.has(name) && !folder.checksum(name)) continue;  // A listed file that is missing is an error.
    const std::string text = folder.text(name);
    if (is_ours(text, path_of(folder, name))) return Tokenizer::from_json(text, path_of(folder, name));
    return read_gpt2(folder, name, text);
  }
  if (folder.has("tokenizer.json"))
    return Tokenizer::from_tokenizer_json(folder.text("tokenizer.json"), path_of(folder, "tokenizer.json"));
  if (folder.has(kMeta)) return read_meta(folder.text(kMeta), path_of(folder, kMeta));
  fail("tokenizer", folder.folder(), " must have vocab.json or tokenizer.json, got neither.");
}

Tokenizer load_tokenizer(const fs::path& from) {
  std::error_code ignored;
  if (fs::is_directory(from, ignored)) return files::read_folder(from, read_tokenizer);
  try {
    if (from.extension() == ".pkl") return read_meta(files::read(from), from.string());
    return Tokenizer::from_tokenizer_json(files::read(from), from.string());
  } catch (const files::Unreadable& e) {
    fail("tokenizer", from, " must be a folder or a tokenizer.json, got '", e.reason(), "'.");
  }
}

}  // namespace gradus::data
