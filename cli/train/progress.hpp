// Progress: shows a run while it trains. On the standard error stream it shows a live view below the lines of
// evaluations if that is a terminal, and otherwise occasional plain lines. On the standard output stream it
// writes, on request, a JSON line for each event.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gradus/cli/plots/chart.hpp"
#include "gradus/cli/program/live_lines.hpp"
#include "gradus/cli/program/terminal.hpp"
#include "gradus/cli/program/text_output.hpp"
#include "gradus/train/run.hpp"

namespace gradus::cli {

struct ProgressOptions {
  int64_t eval_tokens = 0;                   ///< of each evaluation; 0: there are none
  int64_t last_eval_tokens = 0;              ///< of one more evaluation, after the run
  int64_t sample_every = 0;                  ///< steps; 0: never
  std::function<std::string()> sample = {};  ///< generates a text with the model
  std::function<void()> evaluated = {};      ///< called at the start, and after each evaluation
  EventStream* events = nullptr;             ///< borrowed; null: no JSON
  bool quiet = false;                        ///< nothing on the standard error stream
  std::function<bool()> should_stop = {};    ///< asked after each step
};

class Progress : public train::Observer {
 public:
  /// Borrows the trainer, whose steps it shows.
  Progress(const train::Trainer& trainer, ProgressOptions options);

  void on_start(const train::StartReport& report) override;
  void on_step(const train::StepReport& report) override;
  void before_eval() override;
  void on_eval(const train::EvalReport& report) override;
  void on_layers(const train::LayerReport& report) override;
  void on_sample(int64_t step, const std::string& text) override;
  bool should_stop() override { return options_.should_stop && options_.should_stop(); }

 private:
  using Clock = std::chrono::steady_clock;
  double seconds_left() const;               ///< of steps and evaluations
  std::vector<std::string> numbers() const;  ///< step, loss, speed, time left
  void add_point(double loss);
  void show_sample(int64_t step, const std::string& text);
  /// The lines of the view, each shorter than a row of the terminal, and fewer than its rows: numbers, a bar,
  /// and, if there is room, the losses and a sample.
  std::vector<std::string> view(const std::string& note, const Terminal& terminal) const;
  void add_chart(int columns, int rows, const Terminal& terminal, std::vector<std::string>& lines) const;
  void show(const std::string& note = "");
  void print_line(const std::string& text);
  int64_t steps() const { return trainer_.recipe().loop.steps; }

  const train::Trainer& trainer_;
  ProgressOptions options_;
  std::optional<LiveLines> live_;        // none: plain lines
  plots::Points training_, validation_;  // running means of the loss, and losses, by steps
  int64_t point_steps_ = 1;              // between two of training_
  std::string sample_;                   // text of the model; empty: none
  int64_t sample_step_ = 0;
  Clock::time_point start_ = Clock::now(), shown_ = start_;
  const int64_t first_step_;
  int64_t step_;
  std::array<double, std::size(train::kStepMetrics)> means_{};  // running
  double seconds_per_token_ = 0;                                // running mean
  double eval_seconds_ = 0;                                     // of the evaluations so far
  int64_t evals_ = 0;
  std::vector<std::string> evaluated_;  // what the last evaluation measured
};

}  // namespace gradus::cli
