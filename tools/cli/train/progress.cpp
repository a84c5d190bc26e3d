#include "gradus/tools/cli/train/progress.hpp"

#include <algorithm>
#include <iostream>

#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/tools/cli/train/run_planner.hpp"

namespace gradus::cli {
namespace {

constexpr double kLiveSeconds = 0.1, kPlainSeconds = 10;

/// An exponential moving average that begins with the first value.
void update_mean(double& mean, double value, bool first) {
  mean = first ? value : 0.95 * mean + 0.05 * value;
}

}  // namespace

Progress::Progress(const train::Trainer& trainer, ProgressOptions options)
    : trainer_(trainer), options_(std::move(options)), first_step_(trainer.steps_done()), step_(first_step_) {
  const bool has_events = options_.events && standard_output().live;  // on the same terminal
  if (!options_.quiet && !has_events && standard_error().live) live_.emplace();
}

void Progress::on_start(const train::StartReport& report) {
  if (options_.events) options_.events->write(train::to_json(report));
}

void Progress::on_step(const train::StepReport& report) {
  const bool first = step_ == first_step_;
  step_ = report.step;
  update_mean(loss_, report.loss, first);
  update_mean(seconds_per_token_, report.seconds / static_cast<double>(report.tokens), first);
  view_.training.add(static_cast<double>(step_), loss_);
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
  val_ = "val " + decimals(report.val_loss, 4);
  eval_seconds_ += report.seconds;
  ++evals_;
  view_.validation.emplace_back(report.step, report.val_loss);
  if (options_.events) options_.events->write(train::to_json(report));
  if (report.step == first_step_)
    print_line(concat("before  ", val_, " nats a token"));
  else
    print_line(joined(numbers(), "  ") + (report.is_best ? "" : "  (not the best)"));
  if (live_) show();
}

void Progress::show_sample(int64_t step, const std::string& text) {
  view_.sample = text;
  view_.sample_step = step;
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
  numbers.push_back("loss " + decimals(loss_, 4));
  if (!val_.empty()) numbers.push_back(val_);
  numbers.push_back(short_number(1 / seconds_per_token_) + " tokens/s");
  numbers.push_back(duration(seconds_left()) + " left");
  return numbers;
}

void Progress::show(const std::string& note) {
  if (options_.quiet) return;
  if (!live_) return print_line(joined(numbers(), "  "));
  std::vector<std::string> shown = numbers();
  if (!note.empty()) shown.push_back(note);
  const Terminal terminal = standard_error();
  live_->draw(view_.lines(shown, static_cast<double>(step_) / static_cast<double>(steps()), terminal),
              terminal.columns);
  shown_ = Clock::now();
}

void Progress::print_line(const std::string& text) {
  if (options_.quiet) return;
  std::cerr << text << std::endl;
  shown_ = Clock::now();
}

}  // namespace gradus::cli
