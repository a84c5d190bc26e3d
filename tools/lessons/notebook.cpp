#include "gradus/tools/lessons/notebook.hpp"

#include <algorithm>

#include "gradus/tools/embedded.hpp"

namespace gradus::tools {
namespace {

constexpr std::string_view kHeading = "== ";

/// Takes the first line off `text`, without its line break.
std::string_view take_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace

std::string Lesson::file() const {
  std::string file(name);
  std::replace(file.begin(), file.end(), '-', '_');
  return file;
}

std::vector<LessonStep> Lesson::steps() const {
  LessonPage page(embedded_file(concat("lessons/", file(), ".txt")));
  cells(page);
  return page.steps();
}

LessonPage::LessonPage(std::string_view printouts) {
  size_t first = 0;  // of the cells that share the next text
  while (!printouts.empty()) {
    printouts_.emplace_back(take_line(printouts).substr(kHeading.size()), "");
    if (printouts.starts_with(kHeading)) continue;
    const size_t end = std::min(printouts.find(concat("\n", kHeading)), printouts.size() - 1);
    for (; first < printouts_.size(); ++first) printouts_[first].second = printouts.substr(0, end);
    printouts.remove_prefix(end + 1);
  }
}

void LessonPage::print(std::string_view cell, const std::string& ours) {
  LessonStep& step = steps_.emplace_back(LessonStep{"", std::string(cell), ours, ""});
  const auto printout = std::find_if(printouts_.begin(), printouts_.end(),
                                     [&](const auto& known) { return known.first == cell; });
  if (printout == printouts_.end()) return;
  step.notebook = printout->second;
  printouts_.erase(printout);  // the next cell of this name has another text
}

}  // namespace gradus::tools
