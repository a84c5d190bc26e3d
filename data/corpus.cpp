#include "gradus/data/corpus.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ostream>

#include "gradus/data/stories.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"
#include "gradus/files/hashes.hpp"

namespace gradus::data {
namespace {

namespace fs = std::filesystem;

constexpr size_t kKjvSize = 4'137'850;
constexpr std::string_view kKjvSha256 = "b5c4940bcfeee072c0935b5200d0f9d88a00a0199cb0961d16133458fcdfae5d";
// Messages of the shell and of the program are discarded.
constexpr const char* kKjvCommand = "{ bible -f gen1:1-rev22:21; } 2>/dev/null </dev/null";

std::string read_all(std::FILE* file) {
  std::string bytes;
  char buffer[1 << 16];
  while (const size_t count = std::fread(buffer, 1, sizeof buffer, file)) bytes.append(buffer, count);
  return bytes;
}

bool is_kjv(std::string_view text) { return text.size() == kKjvSize && files::sha256(text) == kKjvSha256; }

/// The intact copy in the cache, or "".
std::string cached_kjv(const fs::path& cache) {
  if (cache.empty()) return "";
  try {
    std::string text = files::read(cache / "kjv.txt");
    return is_kjv(text) ? text : "";
  } catch (const files::Unreadable&) {
    return "";
  }
}

/// The lines without their first word, the name of the verse ("Ge1:1 In the beginning ...").
std::string without_tags(std::string_view lines) {
  std::string text;
  text.reserve(lines.size());
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size() - 1) + 1;
    const std::string_view line = lines.substr(0, end);
    const size_t space = line.find(' ');
    text += space == line.npos ? line : line.substr(space + 1);
    lines.remove_prefix(end);
  }
  return text;
}

std::string make_kjv() {
  constexpr std::string_view hint =
      " Hint: apt-get install bible-kjv bible-kjv-text, or use `corpus` stories.";
  std::FILE* pipe = ::popen(kKjvCommand, "r");
  if (!pipe) fail("kjv", "the program `bible` must start, got '", std::strerror(errno), "'.");
  std::string text = without_tags(read_all(pipe));
  if (::pclose(pipe) != 0)
    fail("kjv", "the program `bible` must be installed and run, got none that does.", hint);
  if (!is_kjv(text)) {
    fail("kjv", "`bible` must write the text of ", kKjvSize, " bytes with sha256 ", kKjvSha256.substr(0, 12),
         "..., got ", text.size(), " bytes with ", files::sha256(text).substr(0, 12), "....", hint);
  }
  return text;
}

/// Writes a file that several processes may write at the same time: each has its own temporary file.
void write_whole(const fs::path& path, std::string_view bytes) {
  const fs::path own = concat(path.string(), ".", ::getpid());
  files::write_atomically(own, [&](std::ostream& out) { out << bytes; });
  files::replace(own, path);
}

/// Returns the error, or "".
std::string keep_kjv(const fs::path& cache, std::string_view text) {
  if (cache.empty()) return "none of GRADUS_CACHE, XDG_CACHE_HOME and HOME is set";
  std::error_code error;
  fs::create_directories(cache, error);
  if (error) return error.message();
  try {
    write_whole(cache / "kjv.txt", text);
    write_whole(cache / "kjv.txt.sha256", concat(kKjvSha256, "  kjv.txt\n"));
  } catch (const RunError& e) {
    return e.what();
  }
  return "";
}

Corpus load_kjv(const fs::path& cache) {
  Corpus corpus{.name = "kjv",
                .text = cached_kjv(cache),
                .sha256 = std::string(kKjvSha256),
                .source = "The Bible, King James Version (1611; public domain), from Debian's bible-kjv-text",
                .entropy = {},
                .warning = ""};
  if (!corpus.text.empty()) return corpus;
  corpus.text = make_kjv();
  const std::string reason = keep_kjv(cache, corpus.text);
  if (!reason.empty())
    corpus.warning = concat("the kjv could not be kept in the cache ", cache, ": ", reason);
  return corpus;
}

Corpus load_stories() {
  std::string text = write_stories();
  std::string checksum = files::sha256(text);
  return {.name = "stories",
          .text = std::move(text),
          .sha256 = std::move(checksum),
          .source = "Stories written by gradus from its own grammar (under the licence of gradus)",
          .entropy = kStoriesEntropy,
          .warning = ""};
}

bool on_path(std::string_view program) {
  const char* path = std::getenv("PATH");
  std::string_view folders = path ? path : "";
  while (!folders.empty()) {
    const size_t end = std::min(folders.find(':'), folders.size());
    if (::access((fs::path(folders.substr(0, end)) / program).c_str(), X_OK) == 0) return true;
    folders.remove_prefix(std::min(end + 1, folders.size()));
  }
  return false;
}

}  // namespace

fs::path cache_dir() {
  const auto folder = [](const char* variable) -> fs::path {
    const char* value = std::getenv(variable);
    return value ? value : "";
  };
  if (const fs::path own = folder("GRADUS_CACHE"); !own.empty()) return own;
  // The XDG base directory specification says to ignore relative ones.
  if (const fs::path xdg = folder("XDG_CACHE_HOME"); xdg.is_absolute()) return xdg / "gradus";
  const fs::path home = folder("HOME");
  return home.empty() ? fs::path() : home / ".cache" / "gradus";
}

std::vector<std::string> corpus_names() { return {"kjv", "stories"}; }

Corpus load_corpus(std::string_view name, const fs::path& cache) {
  if (name == "kjv") return load_kjv(cache);
  if (name == "stories") return load_stories();
  fail("corpus", "the corpus must be kjv or stories, got '", name, "'.");
}

Corpus default_corpus(const fs::path& cache) {
  try {
    return load_kjv(cache);
  } catch (const Error& error) {
    Corpus corpus = load_stories();
    corpus.warning = concat("training on stories, because the kjv is not available: ", error.what());
    return corpus;
  }
}

bool kjv_available(const fs::path& cache) { return on_path("bible") || !cached_kjv(cache).empty(); }

}  // namespace gradus::data
