// Plan: which model a run of so many minutes trains, and for how many steps. What it decides from are times
// that were measured; it measures nothing itself. Thread-safe, but for a PlanCorrector: no state.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gradus/train/train_config.hpp"

namespace gradus::train {

/// What a machine takes for the work of a config, in seconds.
struct Pace {
  double step = 0;        ///< forward, backward, update
  double eval_token = 0;  ///< of an evaluation
};

/// What a run does beside its steps.
struct BesideSteps {
  int64_t eval_targets = 0;   ///< of the whole validation part; 0: there are no evaluations
  int64_t sample_tokens = 0;  ///< to write at its end
};

/// How many tokens an update learns from; not a whole number's type, which large settings overflow.
double tokens_a_step(const TrainConfig& config);

/// The dropout for a text that a run reads so many times: 0, 0.1 or 0.2. A model that has few parameters for
/// the tokens of the text learns it by heart later (docs/recipe.md has the runs that say so).
double planned_dropout(double epochs, double parameters_a_token);

/// The targets of the evaluation at the end of a run: all, unless that took more than a 25th of the work of
/// the steps, each token of which counts as three; at least eval_tokens.
int64_t last_eval_tokens(const TrainConfig& config, int64_t all);

/// How many seconds a run takes at that pace: steps, evaluations, and the sample at the end.
double planned_seconds(const TrainConfig& config, const BesideSteps& beside, const Pace& pace);

/// The config with as many steps as fit into `seconds`, one at least, and with evaluations and saves ten
/// times in between; what `keeps(flag)` says was asked for stays as it is.
TrainConfig planned(TrainConfig config, double seconds, const BesideSteps& beside, const Pace& pace,
                    const std::function<bool(const std::string& flag)>& keeps);

/// The same config with its steps changed (TrainConfig::change_steps), of which `done` took such a time that
/// `seconds` are left: what is to be done after a part of a run showed its true pace. Never fewer than are
/// done.
TrainConfig replanned(TrainConfig config, int64_t done, double seconds_left, const BesideSteps& beside,
                      const Pace& pace);

/// Corrects a plan while the true pace of its run shows. It is told of each step and evaluation when that
/// happens. Not thread-safe.
class PlanCorrector {
 public:
  /// `clock` tells the seconds of the plan's minutes that have gone by.
  PlanCorrector(TrainConfig plan, const BesideSteps& beside, std::function<double()> clock);

  /// After step `step` of the plan, counted from 1. Returns whether plan() has changed.
  bool after_step(int64_t step);
  void before_eval();                                ///< when an evaluation begins
  void after_eval(int64_t tokens);                   ///< when it has read that many targets
  const TrainConfig& plan() const { return plan_; }  ///< as corrected so far

 private:
  bool is_time_to_look(int64_t step) const;
  double seconds_left() const;

  TrainConfig plan_;
  BesideSteps beside_;
  std::function<double()> clock_;
  double mark_;  // when the last step ended, moved on by the evaluations since
  double eval_start_ = 0, eval_seconds_ = 0, eval_tokens_ = 0;
  double all_steps_ = 0, all_seconds_ = 0;  // that paces were measured by
  double left_ = 0;                         // seconds at the last look
  int64_t steps_left_ = 0;                  // then
  int64_t steps_ = 0;                       // since then
  double seconds_ = 0, longest_ = 0;        // of those
};

}  // namespace gradus::train
