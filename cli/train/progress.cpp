#include "gradus/cli/train/progress.hpp"

#include <algorithm>
#include <iostream>
#include <utility>

#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"

namespace gradus::cli {
namespace {

constexpr double kLiveSeconds = 0.1, kPlainSeconds = 10;
constexpr size_t kLoss = 0;  // the row of the curve
static_assert(train::kStepMetrics[kLoss].name == "loss");

/// An exponential moving average that begins with the first value.
void update_mean(double& mean, double value, bool first) {
  mean = first ? value : 0.95 * mean + 0.05 * value;
}

constexpr int64_t kMostPoints = 400;    // of the curve
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

Progress::Progress(const train::Trainer& trainer, ProgressOptions options)
    : trainer_(trainer), options_(std::move(options)), first_step_(trainer.steps_done()), step_(first_step_) {
  const bool has_events = options_.events && standard_output().live;  // on the same terminal
  if (!options_.quiet && !has_events && standard_error().live) live_.emplace();
}

void Progress::on_start(const train::StartReport& report) {
  if (options_.events) options_.events->write(train::to_json(report));
  if (options_.evaluated) options_.evaluated();
}

void Progress::on_step(const train::StepReport& report) {
  const bool first = step_ == first_step_;
  step_ = report.step;
  for (size_t i = 0; i < means_.size(); ++i)
    update_mean(means_[i], train::kStepMetrics[i].value(report), first);
  update_mean(seconds_per_token_, report.seconds / static_cast<double>(report.tokens), first);
  add_point(means_[kLoss]);
  if (options_.events) options_.events->write(train::to_json(report));
  if (options_.sample_every > 0 && step_ % options_.sample_every == 0 && step_ < steps()) {
    const std::string text = options_.sample();
    if (options_.events) options_.events->write(train::sample_to_json(step_, text));
    print_line(concat("sample after step ", step_, "\n", files::plain_text(text), "\n"));
    show_sample(step_, text);
  }
  if (first || seconds_since(shown_) >= (live_ ? kLiveSeconds : kPlainSeconds)) show();
}

void Progress::before_eval() {
  if (live_) show("evaluating");
}

void Progress::on_eval(const train::EvalReport& report) {
  evaluated_.clear();
  for (const auto& metric : train::kEvalMetrics)
    if (!metric.shown.empty())
      evaluated_.push_back(concat(metric.shown, " ", decimals(metric.value(report), 4)));
  eval_seconds_ += report.seconds;
  ++evals_;
  validation_.emplace_back(report.step, report.val_loss);
  if (options_.events) options_.events->write(train::to_json(report));
  if (report.step == first_step_)
    print_line(concat("before  ", joined(evaluated_, "  "), " nats a token"));
  else
    print_line(joined(numbers(), "  ") + (report.is_best ? "" : "  (not the best)"));
  if (live_) show();
}

void Progress::show_sample(int64_t step, const std::string& text) {
  sample_ = text;
  sample_step_ = step;
  if (live_) show();
}

void Progress::on_layers(const train::LayerReport& report) {
  if (options_.events) options_.events->write(train::to_json(report));
}

void Progress::on_sample(int64_t step, const std::string& text) {
  if (options_.events) options_.events->write(train::sample_to_json(step, text));
  show_sample(step, text);
  if (options_.evaluated) options_.evaluated();
}

double Progress::seconds_left() const {
  const auto done = static_cast<double>(std::max<int64_t>(1, step_ - first_step_));
  const double seconds =
      (seconds_since(start_) - eval_seconds_) / done * static_cast<double>(steps() - step_);
  if (options_.eval_tokens == 0) return seconds;
  // A forward pass is a third of a step's work.
  const double per_token = evals_ > 0 ? eval_seconds_ / static_cast<double>(evals_ * options_.eval_tokens)
                                      : seconds_per_token_ / 3;
  const int64_t every = trainer_.recipe().loop.eval_every;
  const int64_t evals = (steps() + every - 1) / every - step_ / every;
  return seconds + per_token * static_cast<double>(evals * options_.eval_tokens + options_.last_eval_tokens);
}

std::vector<std::string> Progress::numbers() const {
  const std::string total = grouped(steps()), done = grouped(step_);
  std::vector<std::string> numbers = {concat(
      "step ", std::string(total.size() - std::min(total.size(), done.size()), ' '), done, "/", total)};
  if (step_ == first_step_) return numbers;
  for (size_t i = 0; i < means_.size(); ++i)
    if (const auto& metric = train::kStepMetrics[i]; !metric.shown.empty())
      numbers.push_back(concat(metric.shown, " ", decimals(means_[i], 4)));
  numbers.insert(numbers.end(), evaluated_.begin(), evaluated_.end());
  numbers.push_back(short_number(1 / seconds_per_token_) + " tokens/s");
  numbers.push_back(duration(seconds_left()) + " left");
  return numbers;
}

void Progress::show(const std::string& note) {
  if (options_.quiet) return;
  if (!live_) return print_line(joined(numbers(), "  "));
  const Terminal terminal = standard_error();
  live_->draw(view(note, terminal), terminal.columns);
  shown_ = Clock::now();
}

void Progress::print_line(const std::string& text) {
  if (options_.quiet) return;
  std::cerr << text + "\n";
  shown_ = Clock::now();
}

void Progress::add_point(double loss) {
  if (step_ % point_steps_ == 0) training_.emplace_back(step_, loss);
  if (std::ssize(training_) < kMostPoints) return;
  point_steps_ *= 2;
  std::erase_if(training_,
                [&](const auto& point) { return static_cast<int64_t>(point.first) % point_steps_ != 0; });
}

std::vector<std::string> Progress::view(const std::string& note, const Terminal& terminal) const {
  const int columns = std::max(10, terminal.columns - 1);
  std::vector<std::string> shown = numbers(), lines;
  if (!note.empty()) shown.push_back(note);
  add_numbers(shown, columns, lines);
  lines.push_back(bar(static_cast<double>(step_) / static_cast<double>(steps()), columns, terminal));
  if (terminal.rows >= kFewestRows && training_.size() > 1) {
    const int all = std::clamp(terminal.rows * 3 / 5, kFewest, kMost);
    add_chart(columns, all - static_cast<int>(lines.size()) - 2 - kSampleLines, terminal, lines);
    if (!sample_.empty()) {
      lines.push_back(faint(concat("sample after step ", sample_step_), columns, terminal));
      add_sample(sample_, columns, lines);
    }
  }
  lines.resize(std::min(lines.size(), static_cast<size_t>(std::max(1, terminal.rows - 1))));
  return lines;
}

void Progress::add_chart(int columns, int rows, const Terminal& terminal,
                         std::vector<std::string>& lines) const {
  plots::Range steps, losses;
  for (size_t i = 0; i < training_.size(); ++i) {
    steps.add(training_[i].first);
    if (i >= training_.size() / 10)
      losses.add(training_[i].second);  // the first are high, and may be cut off
  }
  for (const auto& [step, loss] : validation_) steps.add(step), losses.add(loss);
  losses = losses.widened();
  lines.push_back(
      faint(concat("loss (running mean)", validation_.empty() ? "" : "; o: validation"), columns, terminal));
  for (std::string& line : plots::chart({{training_}, {validation_, kMagenta, 'o'}}, steps, losses, "steps",
                                        {columns, rows, terminal.colour}))
    lines.push_back(std::move(line));
}

}  // namespace gradus::cli
