// Reads texts from files for a tokenizer.
//
// A tokenizer of characters would learn byte order marks and CR as characters, which prompts do not have. Its
// text must therefore be UTF-8; a byte order mark at the start of a file is dropped, and the line ends CR LF
// and CR become LF. Other tokenizers read every byte unchanged.
//
// A text is treated here and by Tokenizer alone, the same for every verb: what is text and what are examples,
// line ends, the tokens before a text (encode_from_start), those that end it (eos), the bytes that count
// (byte_count).
//
// A folder means its .txt files and those in its subfolders, sorted by path; `-` means the standard input
// (./- is a file of that name). Files are concatenated, except for examples in JSON, of which each file is
// read by itself. Thread-safe: no state.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gradus/data/dataset.hpp"
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
  /// Changes the line ends of a text, or of a string of an example; returns how many became LF.
  int64_t unify_line_ends(std::string& text) const;
};
inline constexpr const char* kLineEnds = "line ends with CR were read as LF";  ///< for a note
/// "2 bad lines were skipped; 3 line ends ...": the counts above 0, each with what it is of.
std::string counts_note(const std::vector<std::pair<int64_t, std::string>>& counts);

/// The content of a file or of the standard input.
struct Source {
  std::string name;              ///< for errors
  std::string bytes;             ///< unchanged
  std::filesystem::path path{};  ///< empty for the standard input

  /// The name of the source in error messages, before the line number.
  std::string place() const { return path.empty() ? name : path.string(); }
};

/// A text made from sources.
struct Text {
  std::string text;       ///< for the tokenizer
  int64_t marks = 0;      ///< byte order marks that were dropped
  int64_t line_ends = 0;  ///< CR LF and CR, which became LF
  std::string other;      ///< which source looks like JSON or UTF-16, but was read as a text; or ""

  /// One line about all that, or "".
  std::string note() const;
};

/// The concatenated sources, changed according to the rules. Throws Error (one line, naming source, byte and
/// line) if a text of characters is not UTF-8, and if nothing but byte order marks is there.
Text make_text(const std::vector<Source>& sources, const TextRules& rules);

/// `paths` with each folder replaced by its files. Throws Error if a folder has none, or cannot be read.
std::vector<std::filesystem::path> text_files(const std::vector<std::filesystem::path>& paths);

/// Reads a file, or the standard input. Throws Error (one line, naming the file) if it is missing, a folder,
/// unreadable or, unless it may be, empty.
Source read_source(const std::filesystem::path& path, bool may_be_empty = false);

/// The sources of files and folders. Throws Error as text_files and read_source do, and if `paths` is empty.
std::vector<Source> read_sources(const std::vector<std::filesystem::path>& paths);

/// Whether the sources are examples (chat.hpp): JSON lines, or a JSON array of objects. A source is JSON if
/// its name ends in .jsonl, .ndjson or .json, in any case, or if its first lines are JSON objects; in a
/// file that ends in .txt, one of them must have a member of an example. Throws Error if they are mixed.
bool are_examples(const std::vector<Source>& sources);

/// Calls use(line, object) with the text of each object in a source of examples and the number of the line
/// where it begins, until it returns false. An object may be malformed. Throws Error, naming the source, for
/// an array that does not end, or that something follows, for an object over several lines without an array,
/// and for UTF-16.
void each_object(const Source& source, const std::function<bool(int64_t, std::string_view)>& use);

/// A text as one sequence: Tokenizer::encode_from_start(), of which the text counts and its prefix does not.
Example sequence_of(std::string_view text, const Tokenizer& tokenizer);

}  // namespace gradus::data
