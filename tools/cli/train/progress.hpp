// Progress: shows a run while it trains. People read the standard error stream: one live line on a terminal,
// a plain line now and then elsewhere. Machines read the standard output stream, if asked for: a JSON line
// for every event.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "gradus/tools/cli/program/event_stream.hpp"
#include "gradus/tools/cli/program/terminal.hpp"
#include "gradus/train/run.hpp"

namespace gradus::cli {

struct ProgressOptions {
  int64_t first_step = 0;                    ///< done before
  int64_t steps = 0;                         ///< in all
  int64_t eval_every = 0;                    ///< steps; 0: there are no evaluations
  int64_t eval_tokens = 0;                   ///< of each
  int64_t last_eval_tokens = 0;              ///< of one more, when the run is over
  int64_t sample_every = 0;                  ///< steps; 0: never
  std::function<std::string()> sample = {};  ///< some text of the model
  EventStream* events = nullptr;             ///< borrowed; null: no JSON
  bool quiet = false;                        ///< nothing for people
  std::function<bool()> should_stop = {};    ///< asked after each step
};

class Progress : public train::Observer {
 public:
  explicit Progress(ProgressOptions options);
  ~Progress() override { clear_line(); }

  void on_step(const train::StepReport& report) override;
  void before_eval() override;
  void on_eval(const train::EvalReport& report) override;
  bool should_stop() override;
  /// The number of steps in all has changed.
  void set_steps(int64_t steps) { options_.steps = steps; }

 private:
  using Clock = std::chrono::steady_clock;
  double seconds_since_start() const;
  double seconds_since_shown() const;
  double seconds_left() const;  ///< of steps and evaluations
  std::string numbers() const;  ///< step, loss, speed, time left
  void show(const std::string& note = "");
  void print_line(const std::string& text);
  void clear_line();

  ProgressOptions options_;
  Terminal terminal_;
  Clock::time_point start_ = Clock::now(), shown_ = start_;
  int64_t step_ = 0;
  double loss_ = 0;             // running mean
  double seconds_a_token_ = 0;  // running mean
  double eval_seconds_ = 0;     // of the evaluations so far
  int64_t evals_ = 0;
  Clock::time_point eval_start_ = start_;
  std::string val_;
  bool line_is_up_ = false;
};

}  // namespace gradus::cli
