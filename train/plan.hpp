// Plan: the model and the number of steps of a run that has a number of minutes. It uses times that callers
// measured. Thread-safe except TimeBudget: no state.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gradus/train/train_config.hpp"
#include "gradus/train/trainer/trainer.hpp"

namespace gradus::train {

/// Times of a config on a machine, in seconds.
struct Pace {
  double step = 0;          ///< of a step: forward, backward, update
  double eval_token = 0;    ///< of a token of an evaluation
  double fastest_step = 0;  ///< of those measured, which other programs delayed least
};

/// The work of a run besides its steps.
struct OtherWork {
  int64_t eval_targets = 0;   ///< of the whole validation split; 0: there are no evaluations
  int64_t sample_tokens = 0;  ///< of the sample at its end
  int ranks = 1;              ///< that share the steps and evaluations; the last evaluation is on one
  int64_t most_steps = int64_t{1} << 40;  ///< after which more steps would not lower the loss
};

/// The most steps of a run with a teacher on a text of `text_tokens`, which it then has read 25 times.
int64_t most_taught_steps(const TrainConfig& config, double text_tokens);

/// The tokens of a step; a double, as large settings overflow an integer.
double tokens_per_step(const TrainConfig& config);

/// The number of tokens that a tokenizer of byte pairs learns from a text of `bytes` bytes: bytes / 1,024, at
/// least 257 and at most 4,096.
int64_t planned_vocab(double bytes);

/// A config to plan with, the tokens from which on it is better than smaller ones, and its pace.
struct Choice {
  TrainConfig config;
  double least_tokens = 0;
  Pace pace = {};
};
/// The largest of `choices`, the smallest first, that reads its least tokens in the seconds left; at least
/// the first. Calls `measure` for those that may be chosen.
Choice planned_choice(std::vector<Choice> choices, const std::function<double()>& seconds_left,
                      const std::function<Pace(const TrainConfig& config)>& measure);

/// The dropout of a run of `epochs` epochs: 0, 0.1 or 0.2. A model with few parameters per token of the text
/// overfits later (docs/recipe.md has the runs that show it).
double planned_dropout(double epochs, double parameters_per_token);

/// Teachers of a model or of the members of an ensemble (TrainConfig::teacher), as many of which train at a
/// time as there are threads.
struct Teaching {
  int64_t teachers = 0;  ///< 0: there are none
  double share = 0;      ///< of the time, which the teachers get
};
/// The teachers of `members` models. One model alone, on all `slots` threads, makes `epochs` epochs in the
/// time. One model has no teachers below 7 epochs, an ensemble none below 12 epochs a member. From about 60
/// epochs on, one model has at most 16 teachers, which have teachers too, in 0.65 of the time or all that
/// most_taught_steps() leaves. Else at most 8 teachers make about 4.8 epochs each in two fifths of the time:
/// a power of two, of which each has several threads, or a multiple of `slots`.
Teaching planned_teaching(double epochs, int64_t members, int64_t slots);
/// The teachers of a run on a text of `text_tokens` tokens; choices[0], the usual preset, has its pace. None
/// if the largest choice that planned_choice() takes makes fewer than 7 epochs: it is better alone.
Teaching planned_teaching(std::vector<Choice> choices, double seconds, double text_tokens, int64_t members,
                          int64_t slots);

/// The targets of the evaluation at the end of a run: all, but at most a 25th of the work of the steps, in
/// which a token counts as three, and at least eval_tokens.
int64_t last_eval_tokens(const TrainConfig& config, int64_t all);

/// The seconds of a run at that pace after `done` steps: steps, evaluations, and the sample at the end.
double planned_seconds(const TrainConfig& config, const OtherWork& other, const Pace& pace, int64_t done = 0);

/// The config with all steps that fit into `seconds`, at least one, and ten evaluations and saves. Keeps
/// settings for which is_given(flag).
TrainConfig planned(TrainConfig config, double seconds, const OtherWork& other, const Pace& pace,
                    const std::function<bool(const std::string& flag)>& is_given);

/// The config with all steps that fit into the seconds left after `done` steps, and at least `done`
/// (TrainConfig::change_steps). The pace is that of the run so far.
TrainConfig replanned(TrainConfig config, int64_t done, double seconds_left, const OtherWork& other,
                      const Pace& pace);

/// The budget of a planned run (Recipe::budget): corrects its number of steps by its measured pace. Not
/// thread-safe.
class TimeBudget {
 public:
  /// `clock` returns the seconds of the plan's minutes that have passed.
  TimeBudget(TrainConfig plan, const OtherWork& other, std::function<double()> clock);

  /// The number of steps that fit into the minutes. Called after each step.
  int64_t steps(const StepReport& report);
  const TrainConfig& plan() const { return plan_; }  ///< as corrected so far, see TrainConfig::change_steps

 private:
  bool must_correct(int64_t step) const;
  double seconds_left() const { return 60 * plan_.minutes - clock_(); }

  TrainConfig plan_;
  OtherWork other_;
  std::function<double()> clock_;
  double step_seconds_ = 0;                 // of the run so far, without evaluations
  double all_steps_ = 0, all_seconds_ = 0;  // for measuring paces
  // At the last correction.
  double seconds_left_;
  int64_t steps_left_;
  // Since then.
  int64_t steps_ = 0;
  double seconds_ = 0, longest_ = 0;
};

}  // namespace gradus::train
