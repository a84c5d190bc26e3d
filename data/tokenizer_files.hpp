// The files of a tokenizer, as a run folder has them and others do.
//
//   vocab.json             characters, bytes, or GPT-2's object of tokens
//   merges.txt             beside the last; vocab.bpe and encoder.json, as OpenAI called the two, will do
//   tokenizer.json         the same for Hugging Face's `tokenizers`
//   tokenizer_config.json  and for its `transformers`, which else would clean up what it decodes
//
// Thread-safe: no state.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "gradus/data/tokenizer.hpp"
#include "gradus/files/folder.hpp"

namespace gradus::data {

/// The text of each file by its name.
std::map<std::string, std::string> tokenizer_files(const Tokenizer& tokenizer);

/// Writes them into a folder, which is made if it is not there, with their checksums. Throws RunError if the
/// disk refuses.
void save_tokenizer(const Tokenizer& tokenizer, const std::filesystem::path& folder);

/// Whether a folder has the files of one, good or not.
bool has_tokenizer(const files::FolderSnapshot& folder);

/// The tokenizer of a folder: of vocab.json, else encoder.json, else tokenizer.json. Throws Error, naming the
/// file, if none is there, or one is damaged.
Tokenizer read_tokenizer(const files::FolderSnapshot& folder);

/// The tokenizer of a folder as above, or of a file in the form of tokenizer.json. Throws Error as above.
Tokenizer load_tokenizer(const std::filesystem::path& from);

}  // namespace gradus::data
