#include "gradus/data/text.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iostream>
#include <iterator>

#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/hashes.hpp"
#include "gradus/files/json.hpp"
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
    std::string bytes = files::read_input(path);
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
  if (result.text.empty() && result.marks > 0)
    fail("text", sources.front().name, " must have text in it, got a byte order mark only.");
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
  if (path != "-") return {concat(path), read_file(path), path};
  Source source{"the standard input", std::string(std::istreambuf_iterator<char>(std::cin), {})};
  if (source.bytes.empty()) fail("text", "the standard input must have text in it, got none.");
  return source;
}

std::vector<Source> read_sources(const std::vector<fs::path>& paths) {
  if (paths.empty()) fail("text", "there must be at least one file, got none.");
  std::vector<Source> sources;
  for (const fs::path& path : text_files(paths)) sources.push_back(read_source(path));
  return sources;
}

// -- examples

namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::string_view without_space(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

/// Calls use(object) unless the text is malformed or no object; returns whether it did.
bool with_object(std::string_view text, const std::function<void(const files::Field&)>& use) {
  try {
    const files::Json json(text, "text", "");
    if (json.root().is_object()) return use(json.root()), true;
  } catch (const Error&) {  // read_examples() names it.
  }
  return false;
}

/// The first key of a text that begins as an object does, in any lists; or "".
std::string_view first_key(std::string_view text) {
  size_t at = std::min(text.find('{'), text.size());
  const auto is_before = [](char c) { return is_space(c) || c == '['; };
  if (!std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), is_before)) return "";
  text = without_space(text.substr(std::min(at + 1, text.size())));
  at = text.starts_with('"') ? text.find('"', 1) : text.npos;
  const bool is_key = at != text.npos && without_space(text.substr(at + 1, 64)).starts_with(':');
  return is_key ? text.substr(1, at - 1) : "";
}

/// By its name, or by its first objects, which may be malformed.
bool is_json(const Source& source) {
  std::string end = source.path.extension().string();
  for (char& c : end) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  if (end == ".jsonl" || end == ".ndjson" || end == ".json") return true;
  const auto is_known = [&](std::string_view key) {  // JSON in a .txt file may be text
    return key == "messages" || key == "prompt" || key == "text" || (end != ".txt" && !key.empty());
  };
  constexpr int kLooked = 16;  // objects
  int count = 0, whole = 0;
  bool all = true, known = false;
  try {
    each_object(source, [&](int64_t, std::string_view object) {
      all = all && object.starts_with('{');
      if (all && !known)
        whole += with_object(object, [&](const files::Field& field) {
          for (const auto& [key, value] : field.members()) known = known || is_known(key);
        });
      return all && ++count < kLooked;
    });
  } catch (const Error&) {  // A text that begins with [ is no array; an array that is cut is.
  }
  std::string_view bytes = source.bytes;
  while (bytes.starts_with(kMark)) bytes.remove_prefix(kMark.size());
  return (all && known) || (whole == 0 && is_known(first_key(bytes)));
}

}  // namespace

bool are_examples(const std::vector<Source>& sources) {
  const auto other = std::adjacent_find(sources.begin(), sources.end(), [](const Source& a, const Source& b) {
    return is_json(a) != is_json(b);
  });
  if (other != sources.end())
    fail("text", "texts must all be JSONL or none, got ", other->name, " and ", (other + 1)->name,
         ", of which one is.");
  return !sources.empty() && is_json(sources.front());
}

void each_object(const Source& source, const std::function<bool(int64_t, std::string_view)>& use) {
  const std::string_view all = source.bytes;
  size_t at = has_mark(source) ? kMark.size() : 0;
  while (at < all.size() && is_space(all[at])) ++at;
  const bool is_array = at < all.size() && all[at] == '[';
  auto line_of = [&, line = int64_t{1}, counted = size_t{0}](size_t place) mutable {
    line += std::count(all.begin() + static_cast<std::ptrdiff_t>(counted),
                       all.begin() + static_cast<std::ptrdiff_t>(place), '\n');
    counted = place;
    return line;
  };
  const auto found = [&](size_t begin, size_t end) {
    while (begin < end && is_space(all[begin])) ++begin;
    const std::string_view object = without_space(all.substr(begin, end - begin));
    return (object.empty() && !is_array) || use(line_of(begin), object);
  };
  if (!is_array) {
    while (at < all.size()) {
      const size_t end = std::min(all.find('\n', at), all.size());
      if (!found(at, end)) return;
      at = end + 1;
    }
    return;
  }
  int64_t depth = 0;
  bool is_first = true;
  size_t begin = at + 1;
  for (; at < all.size(); ++at) {
    if (all[at] == '"') {
      while (++at < all.size() && all[at] != '"') at += all[at] == '\\' ? 1 : 0;
      continue;
    }
    if (all[at] == '[' || all[at] == '{') ++depth;
    if (all[at] == ']' || all[at] == '}') --depth;
    const bool ends = depth == 0;
    if (!ends && !(depth == 1 && all[at] == ',')) continue;
    const bool is_empty = ends && is_first && without_space(all.substr(begin, at - begin)).empty();
    if (!is_empty && !found(begin, at)) return;
    begin = at + 1, is_first = false;
    if (ends) break;
  }
  if (depth != 0 || !without_space(all.substr(std::min(begin, all.size()))).empty())
    fail("text", source.name, " must be JSON lines or one array of objects, got an array that ",
         depth != 0 ? "does not end." : "something follows.");
}

std::string texts_of(const std::vector<Source>& examples) {
  std::string texts = "system\nuser\nassistant\n";
  size_t bytes = texts.size();
  for (const Source& source : examples) bytes += source.bytes.size();
  texts.reserve(bytes);
  const auto add = [&](const files::Field& object, std::string_view key) {
    if (const auto text = object.find(key); text && text->is_text()) texts += concat(text->text(), "\n");
  };
  for (const Source& source : examples)
    each_object(source, [&](int64_t, std::string_view text) {
      with_object(text, [&](const files::Field& object) {
        for (const char* key : {"prompt", "completion", "text"}) add(object, key);
        if (const auto messages = object.find("messages"))
          for (const files::Field& message : messages->items()) add(message, "content");
      });
      return true;
    });
  return texts;
}

Example sequence_of(std::string_view text, const Tokenizer& tokenizer) {
  Example example{.tokens = tokenizer.encode_from_start(text), .counts = {}};
  example.counts.assign(example.tokens.size(), true);
  std::fill_n(example.counts.begin(), tokenizer.prefix().size(), false);
  return example;
}

}  // namespace gradus::data
