// Reads texts from files for a tokenizer.
//
// A tokenizer of characters would learn byte order marks and CR as characters, which prompts do not have. Its
// text must therefore be UTF-8; a byte order mark at the start of a file is dropped, and the line ends CR LF
// and CR become LF. Other tokenizers read every byte unchanged. The checksum covers the bytes of the files,
// as sha256sum does.
//
// A folder means its .txt files and those in its subfolders, sorted by path; `-` means the standard input
// (./- is a file of that name). Files are concatenated. Thread-safe: no state.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/data/tokenizer.hpp"

namespace gradus::data {

/// The changes to the bytes of files.
struct TextRules {
  bool characters = false;    ///< must be UTF-8; byte order marks at the start of files are dropped
  bool one_line_end = false;  ///< CR LF and CR become LF

  /// The rules for a text from which a tokenizer of this kind is made.
  static TextRules of_kind(std::string_view kind);
  /// The rules for an existing tokenizer. If its vocabulary has CR, CR stays.
  static TextRules of(const Tokenizer& tokenizer);
};

/// The content of a file or of the standard input.
struct Source {
  std::string name;   ///< for errors
  std::string bytes;  ///< unchanged
};

/// A text made from sources.
struct Text {
  std::string text;       ///< for the tokenizer
  std::string sha256;     ///< of the sources' bytes, joined
  int64_t marks = 0;      ///< byte order marks that were dropped
  int64_t line_ends = 0;  ///< CR LF and CR, which became LF

  /// One line about the changes, or "".
  std::string note() const;
};

/// The concatenated sources, changed according to the rules. Throws Error (one line, naming source, byte and
/// line) if a text of characters is not UTF-8.
Text make_text(const std::vector<Source>& sources, const TextRules& rules);

/// `paths` with each folder replaced by its files. Throws Error if a folder has none, or cannot be read.
std::vector<std::filesystem::path> text_files(const std::vector<std::filesystem::path>& paths);

/// Reads a file, or the standard input. Throws Error (one line, naming the file) if it is missing, a folder,
/// unreadable or empty.
Source read_source(const std::filesystem::path& path);

/// The text of files and folders. Throws Error (one line, naming the file) as make_text, text_files and
/// read_source do, and if `paths` is empty.
Text read_text(const std::vector<std::filesystem::path>& paths, const TextRules& rules);

}  // namespace gradus::data
