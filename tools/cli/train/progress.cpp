#include "gradus/tools/cli/train/progress.hpp"

#include <algorithm>
#include <iostream>

#include "gradus/files/error.hpp"

namespace gradus::cli {
namespace {

constexpr double kLiveSeconds = 0.1, kPlainSeconds = 10;

double seconds_from(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// An exponential moving average that begins with the first value.
void update_mean(double& mean, double value, bool first) {
  mean = first ? value : 0.95 * mean + 0.05 * value;
}

}  // namespace

Progress::Progress(const train::Trainer& trainer, ProgressOptions options)
    : trainer_(trainer),
      options_(std::move(options)),
      terminal_(standard_error()),
      first_step_(trainer.steps_done()),
      step_(first_step_) {}

void Progress::on_step(const train::StepReport& report) {
  const bool first = step_ == first_step_;
  step_ = report.step;
  update_mean(loss_, report.loss, first);
  update_mean(seconds_per_token_, report.seconds / static_cast<double>(report.tokens), first);
  if (options_.events) options_.events->write(train::to_json(report));
  if (options_.sample_every > 0 && step_ % options_.sample_every == 0 && step_ < steps()) {
    const std::string text = options_.sample();
    if (options_.events) options_.events->write(train::sample_to_json(step_, text));
    print_line(concat("sample after step ", step_, "\n", text, "\n"));
  }
  if (first || seconds_from(shown_) >= (terminal_.live ? kLiveSeconds : kPlainSeconds)) show();
}

void Progress::before_eval() {
  if (terminal_.live) show("evaluating");
}

void Progress::on_eval(const train::EvalReport& report) {
  val_ = "  val " + decimals(report.val_loss, 4);
  eval_seconds_ += report.seconds;
  ++evals_;
  if (options_.events) options_.events->write(train::to_json(report));
  if (report.step == first_step_) return print_line(concat("before", val_, " nats a token"));
  print_line(numbers() + (report.is_best ? "" : "  (not the best)"));
}

void Progress::on_layers(const train::LayerReport& report) {
  if (options_.events) options_.events->write(train::to_json(report));
}

void Progress::on_sample(int64_t step, const std::string& text) {
  if (options_.events) options_.events->write(train::sample_to_json(step, text));
  if (options_.evaluated) options_.evaluated();
}

double Progress::seconds_left() const {
  const auto done = static_cast<double>(std::max<int64_t>(1, step_ - first_step_));
  const double seconds = (seconds_from(start_) - eval_seconds_) / done * static_cast<double>(steps() - step_);
  if (options_.eval_tokens == 0) return seconds;
  // A forward pass is a third of a step's work.
  const double per_token = evals_ > 0 ? eval_seconds_ / static_cast<double>(evals_ * options_.eval_tokens)
                                      : seconds_per_token_ / 3;
  const int64_t every = trainer_.recipe().loop.eval_every;
  const int64_t evals = (steps() + every - 1) / every - step_ / every;
  return seconds + per_token * static_cast<double>(evals * options_.eval_tokens + options_.last_eval_tokens);
}

std::string Progress::numbers() const {
  const std::string total = grouped(steps()), done = grouped(step_);
  return concat("step ", std::string(total.size() - std::min(total.size(), done.size()), ' '), done, "/",
                total, "  loss ", decimals(loss_, 4), val_, "  ", short_number(1 / seconds_per_token_),
                " tokens/s  ", duration(seconds_left()), " left");
}

void Progress::show(const std::string& note) {
  if (options_.quiet) return;
  if (!terminal_.live) return print_line(numbers());
  std::string line = note.empty() ? numbers() : numbers() + "  " + note;
  const auto columns = static_cast<size_t>(std::max(20, terminal_.columns - 1));
  line.resize(std::min(line.size(), columns));
  if (const size_t space = columns - line.size(); space >= 14) {
    const size_t cells = std::min<size_t>(30, space - 4);
    const size_t full = cells * static_cast<size_t>(step_) / static_cast<size_t>(steps());
    const std::string bar = std::string(full, '#') + std::string(cells - full, '.');
    line += terminal_.colour ? "  [\033[32m" + bar + "\033[0m]" : "  [" + bar + "]";
  }
  std::cerr << "\r\033[K" << line << std::flush;
  line_is_shown_ = true;
  shown_ = Clock::now();
}

void Progress::print_line(const std::string& text) {
  if (options_.quiet) return;
  clear_line();
  std::cerr << text << std::endl;
  shown_ = Clock::now();
}

void Progress::clear_line() {
  if (line_is_shown_) std::cerr << "\r\033[K" << std::flush;
  line_is_shown_ = false;
}

}  // namespace gradus::cli
