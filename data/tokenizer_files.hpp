// The files of a tokenizer in a run folder, or in a folder of another program.
//
//   vocab.json             characters, bytes, or GPT-2's object of tokens (OpenAI's name: encoder.json)
//   merges.txt             the merges of GPT-2's tokens (OpenAI's name: vocab.bpe)
//   tokenizer.json         the same for Hugging Face's `tokenizers`
//   tokenizer_config.json  for its `transformers`: without it they would change decoded text
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

/// Writes the files and their checksums into a folder, which is made if it is missing. Throws RunError if
/// writing fails.
void save_tokenizer(const Tokenizer& tokenizer, const std::filesystem::path& folder);

/// Whether a folder has the files of a tokenizer, valid or not.
bool has_tokenizer(const files::FolderSnapshot& folder);

/// The tokenizer in vocab.json, else encoder.json, else tokenizer.json of a folder. Throws Error, naming the
/// file, if there is none, or if it is damaged.
Tokenizer read_tokenizer(const files::FolderSnapshot& folder);

/// The tokenizer of a folder, as above, or of a tokenizer.json. Throws Error as above.
Tokenizer load_tokenizer(const std::filesystem::path& from);

}  // namespace gradus::data
