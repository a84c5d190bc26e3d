#include "gradus/tools/cli/train/run_view.hpp"

#include <algorithm>
#include <utility>

#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"

namespace gradus::cli {
namespace {

constexpr int kFewestRows = 12;         // of a terminal, for a chart
constexpr int kFewest = 8, kMost = 14;  // lines of the view with a chart
constexpr int kSampleLines = 2;
constexpr int kGreen = 32, kMagenta = 35;  // see plots::Canvas

std::string styled(const std::string& text, int style, const Terminal& terminal) {
  return terminal.colour ? concat("\033[", style, "m", text, "\033[0m") : text;
}

std::string faint(const std::string& text, int columns, const Terminal& terminal) {
  return styled(std::string(fitting(text, columns)), 2, terminal);
}

void add_numbers(const std::vector<std::string>& numbers, int columns, std::vector<std::string>& lines) {
  std::string line;
  for (const std::string& number : numbers) {
    if (!line.empty() && columns_of(line + number) + 2 > columns) lines.push_back(std::exchange(line, ""));
    line += (line.empty() ? "" : "  ") + number;
  }
  lines.push_back(std::string(fitting(line, columns)));
}

/// A bar of braille characters, which are as wide as letters in every font, and the per cent.
std::string bar(double part, int columns, const Terminal& terminal) {
  const int cells = std::max(1, columns - 6), halves = static_cast<int>(part * 2 * cells);
  std::string done, rest;
  for (int i = 0; i < halves / 2; ++i) done += "⣿";
  if (halves % 2) done += "⣇";
  for (int i = (halves + 1) / 2; i < cells; ++i) rest += "⣀";
  const std::string percent = concat(static_cast<int>(100 * part), " %");
  return styled(done, kGreen, terminal) + styled(rest, 2, terminal) +
         std::string(static_cast<size_t>(std::max(1, 6 - static_cast<int>(percent.size()))), ' ') + percent;
}

void add_sample(const std::string& sample, int columns, std::vector<std::string>& lines) {
  const std::string text = files::plain_lines(sample);
  size_t at = 0;
  for (int i = 0; i < kSampleLines; ++i) {
    if ((at = text.find_first_not_of('\n', at)) == text.npos) return;  // without empty lines
    const std::string_view whole = std::string_view(text).substr(at, text.find('\n', at) - at);
    const std::string_view line = fitting(whole, columns);
    lines.emplace_back(line);
    at += line.size();
  }
}

}  // namespace

void LongCurve::add(double x, double y) {
  x_ += x, y_ += y;
  if (++count_ < together_) return;
  const auto count = static_cast<double>(std::exchange(count_, 0));
  points_.emplace_back(std::exchange(x_, 0) / count, std::exchange(y_, 0) / count);
  if (points_.size() < kMost) return;
  for (size_t i = 0; i < kMost / 2; ++i) {
    const auto &left = points_[2 * i], &right = points_[2 * i + 1];
    points_[i] = std::pair((left.first + right.first) / 2, (left.second + right.second) / 2);
  }
  points_.resize(kMost / 2);
  together_ *= 2;
}

std::vector<std::string> RunView::lines(const std::vector<std::string>& numbers, double part,
                                        const Terminal& terminal) const {
  const int columns = std::max(10, terminal.columns - 1);
  std::vector<std::string> lines;
  add_numbers(numbers, columns, lines);
  lines.push_back(bar(part, columns, terminal));
  if (terminal.rows >= kFewestRows && training.points().size() > 1) {
    const int all = std::clamp(terminal.rows * 3 / 5, kFewest, kMost);
    add_chart(columns, all - static_cast<int>(lines.size()) - 2 - kSampleLines, terminal, lines);
    if (!sample.empty()) {
      lines.push_back(faint(concat("sample after step ", sample_step), columns, terminal));
      add_sample(sample, columns, lines);
    }
  }
  lines.resize(std::min(lines.size(), static_cast<size_t>(std::max(1, terminal.rows - 1))));
  return lines;
}

void RunView::add_chart(int columns, int rows, const Terminal& terminal,
                        std::vector<std::string>& lines) const {
  const plots::Points& trained = training.points();
  plots::Range steps, losses;
  for (size_t i = 0; i < trained.size(); ++i) {
    steps.add(trained[i].first);
    if (i >= trained.size() / 10) losses.add(trained[i].second);  // the first are high, and may be cut off
  }
  for (const auto& [step, loss] : validation) steps.add(step), losses.add(loss);
  losses = losses.widened();
  lines.push_back(
      faint(concat("loss (running mean)", validation.empty() ? "" : "; o: validation"), columns, terminal));
  for (std::string& line :
       plots::chart({{trained}, {validation, kMagenta, 'o'}}, {steps.low, steps.high, 0, 0},
                    {losses.low, losses.high, 0, 0}, "steps", {columns, rows, terminal.colour}))
    lines.push_back(std::move(line));
}

}  // namespace gradus::cli
