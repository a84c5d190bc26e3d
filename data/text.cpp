#include "gradus/data/text.hpp"

#include <algorithm>

#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/json.hpp"
#include "gradus/files/utf8.hpp"

namespace gradus::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConvert = "iconv -f UTF-16 -t UTF-8 converts it.";
constexpr std::string_view kMark = "\xEF\xBB\xBF";  // the byte order mark U+FEFF

enum class Content { text, json, utf16, zeros, examples };
Content content_of(const Source& source);
constexpr const char* kContents[] = {"", "looks like JSON", "looks like UTF-16", "has zero bytes",
                                     "looks like JSON"};

/// ".txt" for "A.TXT".
std::string extension(const fs::path& path) {
  std::string end = path.extension().string();
  for (char& c : end) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return end;
}

/// The .txt files in a folder and its subfolders, sorted by path. Nothing that may be meant is left out:
/// other things of such names and links to folders are refused, and a link to nothing is when it is read.
std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error, ignored;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path& path = entry->path();
    if (const fs::file_status status = entry->status(ignored); fs::is_directory(status)) {
      if (entry->is_symlink(ignored))
        fail("text", folder, " must have files and folders in it, got a link to a folder, ", path,
             ". Hint: name that folder, too.");
    } else if (extension(path) == ".txt") {
      if (fs::exists(status) && !fs::is_regular_file(status))
        fail("text", path, " must be a text file, got a pipe, a socket or a device.");
      files.push_back(path);
    }
  }
  if (error) fail("text", folder, " must be readable, got '", error.message(), "'.");
  if (files.empty()) fail("text", folder, " must have files in it whose names end in .txt, got none.");
  std::ranges::sort(files, [](const fs::path& a, const fs::path& b) { return a.native() < b.native(); });
  return files;
}

/// Whether a text has the byte order mark of UTF-16, or begins with characters of which one byte is 0.
bool is_utf16(std::string_view bytes) {
  if (bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF")) return true;
  int zeros[2] = {}, pairs = 0;
  for (size_t i = 0; i + 1 < std::min<size_t>(bytes.size(), 64); i += 2, ++pairs)
    for (const size_t j : {0, 1}) zeros[j] += bytes[i + j] == '\0' ? 1 : 0;
  return pairs > 3 && zeros[0] + zeros[1] == pairs && (zeros[0] == pairs || zeros[1] == pairs);
}

bool has_mark(const Source& source) { return source.bytes.starts_with(kMark); }

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
  fail("text", source->name, " must be UTF-8, got byte ", byte, " at byte offset ", offset, ", on line ",
       line, ", where no character starts. Hint: save it as UTF-8, or train with ", Option{"tokenizer"},
       " byte, which reads any file.");
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

int64_t TextRules::unify_line_ends(std::string& text) const {
  size_t to = one_line_end ? text.find('\r') : text.npos;
  if (to == text.npos) return 0;
  int64_t count = 0;
  for (size_t from = to; from < text.size(); ++from) {
    const bool carriage_return = text[from] == '\r';
    if (carriage_return) ++count;
    if (carriage_return && from + 1 < text.size() && text[from + 1] == '\n') continue;
    text[to++] = carriage_return ? '\n' : text[from];
  }
  text.resize(to);
  return count;
}

std::string counts_note(const std::vector<std::pair<int64_t, std::string>>& counts) {
  std::vector<std::string> notes;
  for (const auto& [count, what] : counts)
    if (count > 0) notes.push_back(concat(count, " ", what));
  return joined(notes, "; ");
}

std::string Text::note() const {
  const std::string counted =
      counts_note({{marks, "byte order marks were left out"}, {line_ends, kLineEnds}});
  return concat(counted, counted.empty() || other.empty() ? "" : "; ", other);
}

Text make_text(const std::vector<Source>& sources, const TextRules& rules) {
  Text result;
  for (const Source& source : sources) result.text += source.bytes;
  for (const Source& source : sources) {
    const Content content = content_of(source);
    if (rules.characters && content == Content::utf16)
      fail("text", source.name, " must be UTF-8, got what looks like UTF-16. Hint: ", kConvert);
    if (content != Content::text && result.other.empty())
      result.other = concat(source.name, " was read as plain text, although it ",
                            kContents[static_cast<size_t>(content)]);
  }
  if (!rules.characters) return result;

  result.marks = std::ranges::count_if(sources, has_mark);
  if (result.marks > 0) {
    result.text.clear();
    for (const Source& source : sources)
      result.text += std::string_view(source.bytes).substr(has_mark(source) ? kMark.size() : 0);
  }
  if (const size_t bad = files::first_bad_byte(result.text); bad < result.text.size()) refuse(bad, sources);
  result.line_ends = rules.unify_line_ends(result.text);
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

Source read_source(const fs::path& path, bool may_be_empty) {
  const bool is_file = path != "-";
  Source source{is_file ? concat(path) : "the standard input", "", is_file ? path : ""};
  try {
    source.bytes = is_file ? files::read_input(path) : files::read_standard_input();
  } catch (const files::Unreadable& e) {
    fail("text", source.name, " must be readable, got '", e.reason(), "'.");
  }
  if (source.bytes.empty() && !may_be_empty) fail("text", source.name, " must have text in it, got none.");
  if (const std::string other = files::other_file(source.bytes.substr(0, 64)); other.starts_with("a pointer"))
    fail("text", source.name, " must be a text, got ", other);
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

/// The end of the list, the object or the string that begins at `at`; npos if it has none.
size_t end_of_value(std::string_view text, size_t at) {
  for (int64_t depth = 0; at < text.size(); ++at) {
    if (text[at] == '[' || text[at] == '{') ++depth;
    if (text[at] == ']' || text[at] == '}') --depth;
    if (text[at] == '"')
      while (++at < text.size() && text[at] != '"') at += text[at] == '\\' ? 1 : 0;
    if (depth == 0 && at < text.size()) return at + 1;
  }
  return text.npos;
}

/// By its name, or by its first objects, which may be malformed.
Content content_of(const Source& source) {
  const std::string end = extension(source.path);
  if (end == ".jsonl" || end == ".ndjson" || end == ".json") return Content::examples;
  if (is_utf16(source.bytes)) return Content::utf16;
  constexpr size_t kLookedBytes = 4096;
  if (source.bytes.substr(0, kLookedBytes).find('\0') != source.bytes.npos) return Content::zeros;
  const auto is_known = [&](std::string_view key) {  // JSON in a .txt file may be text
    return key == "messages" || key == "prompt" || key == "text" || (end != ".txt" && !key.empty());
  };
  constexpr int kLooked = 16;  // objects
  int count = 0, whole = 0;
  bool all = true, known = false;
  try {
    each_object(source, [&](int64_t, std::string_view object) {
      all = all && object.starts_with('{');
      try {
        if (all && !known) {
          const files::Json json(object, "text", "");
          for (const auto& [key, value] : json.root().members()) known = known || is_known(key);
          ++whole;
        }
      } catch (const Error&) {  // read_records() names it.
      }
      return all && ++count < kLooked;
    });
  } catch (const Error&) {  // A text that begins with [ is no array; an array that is cut is.
  }
  std::string_view bytes = source.bytes;
  while (bytes.starts_with(kMark)) bytes.remove_prefix(kMark.size());
  const std::string_view key = whole == 0 ? first_key(bytes) : "";
  if ((all && known) || is_known(key)) return Content::examples;
  return (all && whole > 0) || !key.empty() ? Content::json : Content::text;
}

}  // namespace

bool are_examples(const std::vector<Source>& sources) {
  const auto is = [](const Source& source) { return content_of(source) == Content::examples; };
  const auto other =
      std::ranges::adjacent_find(sources, [&](const Source& a, const Source& b) { return is(a) != is(b); });
  if (other != sources.end())
    fail("text", "texts must all be JSONL or none, got ", other->name, " and ", (other + 1)->name,
         ", of which one is.");
  return !sources.empty() && is(sources.front());
}

void each_object(const Source& source, const std::function<bool(int64_t, std::string_view)>& use) {
  const std::string_view all = source.bytes;
  const auto refuse = [&](const std::string& got) {
    fail("text", source.name, " must be JSON lines or one array of objects, in UTF-8, got ", got);
  };
  if (is_utf16(all)) refuse(concat("UTF-16. Hint: ", kConvert));
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
    const size_t end = at < all.size() && all[at] == '{' ? end_of_value(all, at) : all.npos;
    if (end != all.npos && all.find('\n', at) < end) refuse("an object over several lines.");
    while (at < all.size()) {
      const size_t line_end = std::min(all.find('\n', at), all.size());
      if (!found(at, line_end)) return;
      at = line_end + 1;
    }
    return;
  }
  size_t begin = at + 1;
  for (++at; at < all.size() && all[at] != ']';) {
    const bool is_value = all[at] == '{' || all[at] == '[' || all[at] == '"';
    if (all[at] == ',') {
      if (!found(begin, at)) return;
      begin = at + 1;
    }
    at = is_value ? std::min(end_of_value(all, at), all.size()) : at + 1;
  }
  if (at >= all.size()) refuse("an array that does not end.");
  const bool is_empty = all[begin - 1] == '[' && without_space(all.substr(begin, at - begin)).empty();
  if (!is_empty && !found(begin, at)) return;
  if (!without_space(all.substr(at + 1)).empty()) refuse("an array that something follows.");
}

Example sequence_of(std::string_view text, const Tokenizer& tokenizer) {
  Example example{.tokens = tokenizer.encode_from_start(text), .counts = {}};
  example.counts.assign(example.tokens.size(), true);
  std::fill_n(example.counts.begin(), tokenizer.prefix().size(), false);
  return example;
}

}  // namespace gradus::data
