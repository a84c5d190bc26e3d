#include "gradus/data/tokenizer_files.hpp"

#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/folder.hpp"
#include "gradus/files/json.hpp"

namespace gradus::data {
namespace {

namespace fs = std::filesystem;

std::string path_of(const files::FolderSnapshot& folder, const std::string& name) {
  return (folder.folder() / name).string();
}

/// Ours names its kind; GPT-2's has the number of each token, of one called "tokenizer" too.
bool is_ours(const std::string& vocab, const std::string& file) {
  const files::Json json(vocab, "vocabulary", file);
  const auto kind = json.root().find("tokenizer");
  return kind && !kind->is_integer();
}

Tokenizer read_gpt2(const files::FolderSnapshot& folder, const std::string& name, const std::string& vocab) {
  const char* merges = folder.has("merges.txt") ? "merges.txt" : "vocab.bpe";
  if (!folder.has(merges))
    fail("tokenizer", folder.folder(), " must have merges.txt (or vocab.bpe) beside ", name,
         ", whose tokens are byte pairs, got neither.");
  return Tokenizer::from_gpt2(vocab, folder.text(merges), path_of(folder, name), path_of(folder, merges));
}

}  // namespace

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
  for (const char* name : {"vocab.json", "encoder.json", "tokenizer.json"})
    if (folder.has(name) || folder.checksum(name)) return true;
  return false;
}

Tokenizer read_tokenizer(const files::FolderSnapshot& folder) {
  for (const std::string name : {"vocab.json", "encoder.json"}) {
    if (!folder.has(name) && !folder.checksum(name)) continue;  // What is listed but missing is an error.
    const std::string text = folder.text(name);
    if (is_ours(text, path_of(folder, name))) return Tokenizer::from_json(text, path_of(folder, name));
    return read_gpt2(folder, name, text);
  }
  if (folder.has("tokenizer.json"))
    return Tokenizer::from_tokenizer_json(folder.text("tokenizer.json"), path_of(folder, "tokenizer.json"));
  fail("tokenizer", folder.folder(), " must have vocab.json or tokenizer.json, got neither.");
}

Tokenizer load_tokenizer(const fs::path& from) {
  std::error_code ignored;
  if (fs::is_directory(from, ignored)) return files::read_folder(from, read_tokenizer);
  try {
    return Tokenizer::from_tokenizer_json(files::read(from), from.string());
  } catch (const files::Unreadable& e) {
    fail("tokenizer", from, " must be a folder or a tokenizer.json, got '", e.reason(), "'.");
  }
}

}  // namespace gradus::data
