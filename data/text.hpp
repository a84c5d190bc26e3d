// Texts from files, as a tokenizer wants them.
//
// Editors put marks into files that nobody writes and nobody sees. A tokenizer of characters would learn them
// as letters, and a prompt typed at a shell would lack them; so a text of characters must be UTF-8, and is
// read without a byte order mark at the start of a file and with LF for the line ends CR LF and CR. A
// tokenizer of bytes takes every byte as it is. The checksum is that of the files' bytes, as sha256sum finds
// it.
//
// A folder stands for the files in it and below whose names end in .txt, in the order of their paths, and `-`
// for the standard input (./- is a file of that name). Files are joined with nothing between them.
//
// Everything returned is owned by the caller. Thread-safety: no state.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/data/tokenizer.hpp"

namespace gradus::data {

/// What is done to the bytes of files.
struct TextRules {
  bool characters = false;    ///< must be UTF-8; a byte order mark at the start of a file is no part of it
  bool one_line_end = false;  ///< CR LF and CR become LF

  /// For a text that a tokenizer of this kind will be made for.
  static TextRules of_kind(std::string_view kind);
  /// For a tokenizer that is there. One whose vocabulary has CR was trained on them, and is given them.
  static TextRules of(const Tokenizer& tokenizer);
};

/// One file, or what stands for one.
struct Source {
  std::string name;   ///< for errors
  std::string bytes;  ///< as they lie in the file
};

/// What rules made of the sources.
struct Text {
  std::string text;       ///< for the tokenizer
  std::string sha256;     ///< of the sources' bytes, joined
  int64_t marks = 0;      ///< byte order marks that were left out
  int64_t line_ends = 0;  ///< that were CR LF or CR

  /// One line on what was changed, or "".
  std::string note() const;
};

/// The sources' bytes, joined in order, by the rules. Throws Error (one line, naming source, byte and line)
/// if a text of characters is not UTF-8.
Text make_text(const std::vector<Source>& sources, const TextRules& rules);

/// The files that `paths` stand for: those of folders in their places. Throws Error if a folder has none, or
/// cannot be read.
std::vector<std::filesystem::path> text_files(const std::vector<std::filesystem::path>& paths);

/// What lies in a file, or comes by the standard input. Throws Error (one line, naming the file) if it is
/// missing, a folder, unreadable or empty.
Source read_source(const std::filesystem::path& path);

/// The text of files and folders. Throws Error (one line, naming the file) as make_text and the two above,
/// and if `paths` is empty.
Text read_text(const std::vector<std::filesystem::path>& paths, const TextRules& rules);

}  // namespace gradus::data
