#include "gradus/train/plan.hpp"

#include <algorithm>
#include <utility>

namespace gradus::train {
namespace {

constexpr int64_t kEvaluations = 10;       // in a planned run
constexpr double kEvaluationShare = 0.01;  // of its time, for all of them but the last
constexpr double kCachedToken = 10;        // what a token with a cache costs, in tokens of an evaluation
constexpr double kEndSeconds = 0.3;        // loading the best model, writing files
constexpr int64_t kLongestWarmup = 100;
constexpr double kNextLook = 2.0 / 3;  // of the time or the steps left at one look, those at the next
constexpr double kLastLook = 0.03;     // of the time: with so little left the plan stands
constexpr int64_t kMostSteps = int64_t{1} << 40;
// Readings of the text from which dropout is 0.1, and 0.2, by a model of kLargeModel parameters a token or
// more; smaller ones may read more often in proportion, kMostTimes as often at most. Chosen between the runs
// of docs/recipe.md.
constexpr double kSomeEpochs = 4, kManyEpochs = 12, kLargeModel = 5, kMostTimes = 3;

/// What is left to do when the steps are over, and evaluations from step `done` on.
double seconds_beside_steps(const TrainConfig& config, int64_t done, const BesideSteps& beside,
                            const Pace& pace) {
  const int64_t block = config.model.block_size,
                past_block = std::max<int64_t>(0, beside.sample_tokens - block);
  const double sample = static_cast<double>(past_block) * static_cast<double>(block) +
                        static_cast<double>(beside.sample_tokens) * kCachedToken;
  const double seconds = kEndSeconds + sample * pace.eval_token;
  if (beside.eval_targets == 0) return seconds;
  const int64_t each =
      config.eval_tokens == 0 ? beside.eval_targets : std::min(config.eval_tokens, beside.eval_targets);
  const int64_t count = (config.steps + config.eval_every - 1) / config.eval_every - done / config.eval_every;
  const int64_t last = each < beside.eval_targets ? last_eval_tokens(config, beside.eval_targets) : 0;
  return seconds + pace.eval_token * static_cast<double>(count * each + last);
}

/// The config with the most steps, at least `fewest`, that fits(config) still allows, which may change it.
template <class Fits>
TrainConfig most_steps(TrainConfig config, int64_t fewest, const Fits& fits) {
  const auto with = [&](int64_t steps) {
    TrainConfig candidate = config;
    candidate.steps = steps;
    return std::pair(fits(candidate), candidate);
  };
  int64_t good = fewest, bad = std::max<int64_t>(2 * fewest, fewest + 1);
  while (bad < kMostSteps && with(bad).first) {
    good = bad;
    bad *= 2;
  }
  while (bad - good > 1) {
    const int64_t middle = good + (bad - good) / 2;
    (with(middle).first ? good : bad) = middle;
  }
  return with(good).second;
}

}  // namespace

double tokens_a_step(const TrainConfig& config) {
  return static_cast<double>(config.batch) * static_cast<double>(config.accum) *
         static_cast<double>(config.model.block_size);
}

double planned_dropout(double epochs, double parameters_a_token) {
  epochs /= std::clamp(kLargeModel / parameters_a_token, 1.0, kMostTimes);
  return epochs < kSomeEpochs ? 0 : epochs < kManyEpochs ? 0.1 : 0.2;
}

int64_t last_eval_tokens(const TrainConfig& config, int64_t all) {
  const double work = 3 * static_cast<double>(config.steps) * tokens_a_step(config);
  const auto affordable = static_cast<int64_t>(std::min(work / 25, 1e15));
  return std::min(all, std::max(config.eval_tokens, affordable));
}

double planned_seconds(const TrainConfig& config, const BesideSteps& beside, const Pace& pace) {
  return static_cast<double>(config.steps) * pace.step + seconds_beside_steps(config, 0, beside, pace);
}

TrainConfig planned(TrainConfig config, double seconds, const BesideSteps& beside, const Pace& pace,
                    const std::function<bool(const std::string& flag)>& keeps) {
  if (!keeps("eval-tokens") && beside.eval_targets > 0) {
    const double affordable =
        kEvaluationShare * seconds / static_cast<double>(kEvaluations) / pace.eval_token;
    config.eval_tokens =
        std::clamp<int64_t>(static_cast<int64_t>(std::min(affordable, 1e9)), config.model.block_size, 32'768);
  }
  return most_steps(config, 1, [&](TrainConfig& candidate) {
    const int64_t tenth = std::max<int64_t>(1, candidate.steps / kEvaluations);
    if (!keeps("eval-every")) candidate.eval_every = tenth;
    if (!keeps("save-every")) candidate.save_every = tenth;
    if (!keeps("warmup")) candidate.warmup = std::min(kLongestWarmup, candidate.steps / 20);
    return planned_seconds(candidate, beside, pace) <= seconds;
  });
}

TrainConfig replanned(TrainConfig config, int64_t done, double seconds_left, const BesideSteps& beside,
                      const Pace& pace) {
  const TrainConfig most = most_steps(config, done, [&](const TrainConfig& candidate) {
    const auto left = static_cast<double>(candidate.steps - done);
    return left * pace.step + seconds_beside_steps(candidate, done, beside, pace) <= seconds_left;
  });
  config.change_steps(done, most.steps);
  return config;
}

PlanCorrector::PlanCorrector(TrainConfig plan, const BesideSteps& beside, std::function<double()> clock)
    : plan_(std::move(plan)), beside_(beside), clock_(std::move(clock)), mark_(clock_()) {
  left_ = seconds_left();
  steps_left_ = plan_.steps;
}

double PlanCorrector::seconds_left() const { return 60 * plan_.minutes - clock_(); }

bool PlanCorrector::is_time_to_look(int64_t step) const {
  const double left = seconds_left();
  if (left <= 0) return true;
  if (steps_ < 2 || left_ < kLastLook * 60 * plan_.minutes) return false;
  // In steps too: a run that is faster than planned would be over before the time of the look.
  return left <= kNextLook * left_ ||
         static_cast<double>(plan_.steps - step) <= kNextLook * static_cast<double>(steps_left_);
}

bool PlanCorrector::after_step(int64_t step) {
  const double now = clock_(), taken = now - mark_;
  mark_ = now;
  ++steps_;
  seconds_ += taken;
  longest_ = std::max(longest_, taken);
  if (!is_time_to_look(step)) return false;

  // Since the last look, as what else the machine does may have changed; without the longest step, in which
  // the process may have been stopped.
  const bool has_others = steps_ > 1;
  const double seconds = has_others ? seconds_ - longest_ : seconds_;
  const auto steps = static_cast<double>(has_others ? steps_ - 1 : steps_);
  all_steps_ += steps;
  all_seconds_ += seconds;
  Pace pace{.step = seconds / steps};
  // The evaluations on the way are small, and dearer a token than the last one: no more than a third of a
  // step. They were made at the mean pace of all steps so far, and slow down as steps have.
  pace.eval_token = pace.step / 3 / tokens_a_step(plan_);
  if (eval_tokens_ > 0)
    pace.eval_token =
        std::min(pace.eval_token, pace.step * all_steps_ / all_seconds_ * eval_seconds_ / eval_tokens_);
  plan_ = replanned(plan_, step, seconds_left(), beside_, pace);

  left_ = seconds_left();
  steps_left_ = plan_.steps - step;
  steps_ = 0;
  seconds_ = longest_ = 0;
  return true;
}

void PlanCorrector::before_eval() { eval_start_ = clock_(); }

void PlanCorrector::after_eval(int64_t tokens) {
  const double taken = clock_() - eval_start_;
  mark_ += taken;  // which is no part of a step
  eval_seconds_ += taken;
  eval_tokens_ += static_cast<double>(tokens);
}

}  // namespace gradus::train
