#include "gradus/data/text.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iostream>
#include <iterator>

#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/hashes.hpp"
#include "gradus/files/utf8.hpp"

namespace gradus::data {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMark = "\xEF\xBB\xBF";  // the byte order mark U+FEFF

std::string read_file(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) fail("text", path, " must be a text file, got a folder.");
  if (::access(path.c_str(), F_OK) != 0 && errno == ENOENT)
    fail("text", path, " must be a text file, got no such file. Hint: check its path.");
  try {
    std::string bytes = files::read(path);
    if (bytes.empty()) fail("text", path, " must have text in it, got an empty file.");
    return bytes;
  } catch (const files::Unreadable& e) {
    fail("text", path, " must be readable, got '", e.reason(), "'.");
  }
}

/// The .txt files in a folder and its subfolders, sorted by path.
std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (std::error_code ignored; entry->path().extension() == ".txt" && entry->is_regular_file(ignored))
      files.push_back(entry->path());
  if (error) fail("text", folder, " must be readable, got '", error.message(), "'.");
  if (files.empty()) fail("text", folder, " must have files in it whose names end in .txt, got none.");
  std::sort(files.begin(), files.end(),
            [](const fs::path& a, const fs::path& b) { return a.native() < b.native(); });
  return files;
}

bool has_mark(const Source& source) { return source.bytes.starts_with(kMark); }

/// The offset of the first byte at which no character starts, or text.size().
size_t first_bad_byte(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const int size = files::first_code_point(text.substr(at)).size;
    if (size == 0) break;
    at += static_cast<size_t>(size);
  }
  return at;
}

/// Throws Error about the byte at `offset` of the joined text without marks, where no character starts.
[[noreturn]] void refuse(size_t offset, const std::vector<Source>& sources) {
  auto source = sources.begin();
  for (;; ++source) {
    if (has_mark(*source)) offset += kMark.size();
    if (offset < source->bytes.size()) break;
    offset -= source->bytes.size();
  }
  const std::string_view bytes = source->bytes;
  const auto line = 1 + std::count(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(offset), '\n');
  char byte[8];
  std::snprintf(byte, sizeof byte, "0x%02x", static_cast<unsigned char>(bytes[offset]));
  const bool utf16 = bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF");
  fail("text", source->name, " must be UTF-8, got byte ", byte, " at byte offset ", offset, ", on line ",
       line, ", where no character starts. Hint: save it as UTF-8",
       utf16 ? " (it looks like UTF-16: iconv -f UTF-16 -t UTF-8)" : "", ", or train with ",
       Option{"tokenizer"}, " byte, which reads any file.");
}

/// Turns CR LF and CR into LF, in place; returns how many there were.
int64_t unify_line_ends(std::string& text) {
  int64_t count = 0;
  size_t to = 0;
  for (size_t from = 0; from < text.size(); ++from) {
    const bool carriage_return = text[from] == '\r';
    if (carriage_return) ++count;
    if (carriage_return && from + 1 < text.size() && text[from + 1] == '\n') continue;
    text[to++] = carriage_return ? '\n' : text[from];
  }
  text.resize(to);
  return count;
}

}  // namespace

TextRules TextRules::of_kind(std::string_view kind) {
  const bool characters = kind == "char";
  return {.characters = characters, .one_line_end = characters};
}

TextRules TextRules::of(const Tokenizer& tokenizer) {
  TextRules rules = of_kind(tokenizer.kind());
  if (tokenizer.has(U'\r')) rules.one_line_end = false;
  return rules;
}

std::string Text::note() const {
  std::string note;
  if (marks > 0)
    note = marks == 1 ? "a byte order mark was left out" : concat(marks, " byte order marks were left out");
  if (line_ends > 0)
    note += concat(note.empty() ? "" : ", and ",
                   line_ends == 1 ? "one line end" : concat(line_ends, " line ends"), " with CR ",
                   line_ends == 1 ? "was" : "were", " read as LF");
  return note;
}

Text make_text(const std::vector<Source>& sources, const TextRules& rules) {
  Text result;
  for (const Source& source : sources) result.text += source.bytes;
  result.sha256 = files::sha256(result.text);
  if (!rules.characters) return result;

  result.marks = std::count_if(sources.begin(), sources.end(), has_mark);
  if (result.marks > 0) {
    result.text.clear();
    for (const Source& source : sources)
      result.text += std::string_view(source.bytes).substr(has_mark(source) ? kMark.size() : 0);
  }
  if (const size_t bad = first_bad_byte(result.text); bad < result.text.size()) refuse(bad, sources);
  if (rules.one_line_end) result.line_ends = unify_line_ends(result.text);
  return result;
}

std::vector<fs::path> text_files(const std::vector<fs::path>& paths) {
  std::vector<fs::path> files;
  for (const fs::path& path : paths) {
    std::error_code ignored;
    if (!fs::is_directory(path, ignored)) {
      files.push_back(path);
      continue;
    }
    const std::vector<fs::path> below = files_below(path);
    files.insert(files.end(), below.begin(), below.end());
  }
  return files;
}

Source read_source(const fs::path& path) {
  if (path != "-") return {concat(path), read_file(path)};
  Source source{"the standard input", std::string(std::istreambuf_iterator<char>(std::cin), {})};
  if (source.bytes.empty()) fail("text", "the standard input must have text in it, got none.");
  return source;
}

Text read_text(const std::vector<fs::path>& paths, const TextRules& rules) {
  if (paths.empty()) fail("text", "there must be at least one file, got none.");
  std::vector<Source> sources;
  for (const fs::path& path : text_files(paths)) sources.push_back(read_source(path));
  Text text = make_text(sources, rules);
  if (text.text.empty()) fail("text", paths.front(), " must have text in it, got a byte order mark only.");
  return text;
}

}  // namespace gradus::data
