#include "gradus/data/corpus.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "gradus/data/stories.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/hashes.hpp"
#include "gradus/files/plain.hpp"

namespace gradus::data {
namespace {

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
  if (const std::string sha256 = files::sha256(text); sha256 != kKjvSha256)
    fail("kjv", "`bible` must write the text of ", kKjvSize, " bytes with sha256 ", kKjvSha256.substr(0, 12),
         "..., got ", text.size(), " bytes with ", sha256.substr(0, 12), "....", hint);
  return text;
}

Corpus load_kjv() {
  return {.name = "kjv",
          .text = make_kjv(),
          .sha256 = std::string(kKjvSha256),
          .source = "The Bible, King James Version (1611; public domain), from Debian's bible-kjv-text"};
}

Corpus load_stories() {
  Corpus corpus{.name = "stories",
                .text = write_stories(),
                .source = "Stories written by gradus from its own grammar (under the licence of gradus)",
                .entropy = kStoriesEntropy};
  corpus.sha256 = files::sha256(corpus.text);
  return corpus;
}

}  // namespace

std::vector<std::string> corpus_names() { return {"kjv", "stories"}; }

Corpus load_corpus(std::string_view name) {
  if (name == "kjv") return load_kjv();
  if (name == "stories") return load_stories();
  fail("corpus", "the corpus must be kjv or stories, got ", files::in_quotes(name), ".");
}

Corpus default_corpus() {
  try {
    return load_kjv();
  } catch (const Error& error) {
    Corpus corpus = load_stories();
    corpus.warning =
        concat("training on stories, because the kjv is not available: ", files::without_op(error.what()));
    return corpus;
  }
}

bool kjv_available() { return std::system("command -v bible >/dev/null 2>&1") == 0; }

}  // namespace gradus::data
