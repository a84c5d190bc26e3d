#include "gradus/tools/lessons/lessons.hpp"

#include <algorithm>
#include <cctype>

#include "gradus/files/error.hpp"

namespace gradus::tools {

// Each is in the file of its name.
extern const Lesson kCausalSelfAttention, kTwoMasks, kMaskedSelfAttention, kUnscaledAttention,
    kAttentionChapter, kStackedHeads;

namespace {

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (;;) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    if (end == text.size()) return lines;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

const std::vector<Lesson>& lessons() {
  static const std::vector<Lesson> all = {kCausalSelfAttention, kTwoMasks,         kMaskedSelfAttention,
                                          kUnscaledAttention,   kAttentionChapter, kStackedHeads};
  return all;
}

const Lesson& find_lesson(std::string_view name) {
  std::string names;
  for (const Lesson& lesson : lessons()) {
    if (lesson.name == name || lesson.notebook == name) return lesson;
    names += (names.empty() ? "" : ", ") + std::string(lesson.name);
  }
  fail("lesson", "the name must be one of ", names, ", or the number of a notebook, got '", name, "'.");
}

PrintedComparison compare_printed(std::string_view ours, std::string_view notebook) {
  PrintedComparison result;
  result.same = ours == notebook;
  std::vector<std::string> theirs = lines_of(notebook), own = lines_of(ours);
  theirs.resize(std::max(theirs.size(), own.size()));
  own.resize(theirs.size());
  for (size_t i = 0; i < own.size(); ++i) {
    const std::string &expected = theirs[i], &got = own[i];
    std::string marks;
    for (size_t c = 0; c < std::max(expected.size(), got.size()); ++c) {
      const bool equal = c < expected.size() && c < got.size() && expected[c] == got[c];
      const bool digit = c < expected.size() && std::isdigit(static_cast<unsigned char>(expected[c])) != 0;
      result.digits += digit ? 1 : 0;
      result.equal += digit && equal ? 1 : 0;
      marks += equal ? ' ' : '^';
    }
    result.lines.push_back({expected, got, marks});
  }
  return result;
}

}  // namespace gradus::tools
