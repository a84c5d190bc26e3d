#include "gradus/train/plan.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "gradus/data/tokenizer.hpp"

namespace gradus::train {
namespace {

constexpr int64_t kEvaluations = 10;         // in a planned run
constexpr double kEvaluationShare = 0.01;    // of its time, for all evaluations except the last
constexpr double kCachedToken = 10;          // cost of a token with a cache, in tokens of an evaluation
constexpr double kEndSeconds = 0.3;          // loading the best model, writing files
constexpr double kNextCorrection = 2.0 / 3;  // of the time or the steps that the last correction had left
constexpr double kLastCorrection = 0.03;     // of the time: if less is left, the plan stays
// Epochs from which dropout is 0.1, and 0.2, for a model of at least kLargeModel parameters per token. For
// smaller models they are higher in proportion, at most kMostTimes as high. From the runs in docs/recipe.md.
constexpr double kSomeEpochs = 6, kManyEpochs = 20, kLargeModel = 2.5, kMostTimes = 3;

// Below kLeastEpochs a model is better alone. A teacher needs some kTeacherEpochs and then overfits, and all
// take at most kTeachersShare of the time. Members of an ensemble have teachers from kLeastMemberEpochs each
// on. Such a member needs some kTaughtEpochs, and an ensemble of them as teachers kTaughtShare to kMostShare
// of the time. From the runs in docs/recipe.md.
constexpr double kLeastEpochs = 7, kTeacherEpochs = 4.8, kTeachersShare = 0.4;
constexpr double kLeastMemberEpochs = 12, kTaughtEpochs = 16, kTaughtShare = 0.65, kMostShare = 0.85;
// Teachers that are to have teachers measure the machine again, and must still find time for them.
constexpr double kSureMemberEpochs = 20;
// A model with a teacher overfits from kMostTaughtEpochs on, and its step takes kTaughtStep times as long.
constexpr double kMostTaughtEpochs = 25, kTaughtStep = 1.36;
constexpr int64_t kMostTeachers = 8, kMostTaughtTeachers = 16;

// The size of a vocabulary of byte pairs. Models with a larger one overfit: see docs/recipe.md.
constexpr double kBytesPerPair = 1024, kMostPairs = 4096;

/// The config with the most steps, at least `fewest`, for which fits(config), which may change it.
template <class Fits>
TrainConfig most_steps(const TrainConfig& config, int64_t fewest, const Fits& fits) {
  const auto with = [&](int64_t steps) {
    TrainConfig candidate = config;
    candidate.steps = steps;
    return std::pair(fits(candidate), candidate);
  };
  int64_t good = fewest, bad = std::max<int64_t>(2 * fewest, fewest + 1);
  while (with(bad).first) {
    good = bad;
    bad *= 2;
  }
  while (bad - good > 1) {
    const int64_t middle = good + (bad - good) / 2;
    (with(middle).first ? good : bad) = middle;
  }
  return with(good).second;
}

// The operations of a step, without those of attention.
double work_of_step(const TrainConfig& config) {
  return tokens_per_step(config) * static_cast<double>(config.model.num_parameters());
}

}  // namespace

int64_t most_taught_steps(const TrainConfig& config, double text_tokens) {
  return static_cast<int64_t>(std::max(1.0, kMostTaughtEpochs * text_tokens / tokens_per_step(config)));
}

double tokens_per_step(const TrainConfig& config) {
  return static_cast<double>(config.batch) * static_cast<double>(config.accum) *
         static_cast<double>(config.model.block_size);
}

int64_t planned_vocab(double bytes) {
  return static_cast<int64_t>(
      std::clamp<double>(bytes / kBytesPerPair, data::Tokenizer::kLeastPairs, kMostPairs));
}

Choice planned_choice(std::vector<Choice> choices, const std::function<double()>& seconds_left,
                      const std::function<Pace(const TrainConfig& config)>& measure) {
  const auto suffices = [&](const Choice& choice, double step) {
    return seconds_left() / step * tokens_per_step(choice.config) >= choice.least_tokens;
  };
  size_t best = 0;
  choices[0].pace = measure(choices[0].config);
  for (size_t next = 1; next < choices.size(); best = next++) {
    // A measurement takes time, so the time of a step is first estimated from the one before.
    const double estimate =
        choices[best].pace.step * work_of_step(choices[next].config) / work_of_step(choices[best].config);
    if (!suffices(choices[next], estimate)) break;
    choices[next].pace = measure(choices[next].config);
    if (!suffices(choices[next], choices[next].pace.step)) break;
  }
  return std::move(choices[best]);
}

double planned_dropout(double epochs, double parameters_per_token) {
  epochs /= std::clamp(kLargeModel / parameters_per_token, 1.0, kMostTimes);
  return epochs < kSomeEpochs ? 0 : epochs < kManyEpochs ? 0.1 : 0.2;
}

Teaching planned_teaching(double epochs, int64_t members, int64_t slots) {
  const auto at_once = static_cast<double>(std::min(slots, kMostTeachers));
  const auto rounded = [&](double affordable, int64_t most) {
    return affordable < at_once
               ? std::min(at_once, std::exp2(std::max(0.0, std::round(std::log2(affordable)))))
               : at_once * std::min(std::round(affordable / at_once),
                                    std::floor(static_cast<double>(most) / at_once));
  };
  if (members > 1 ? epochs < kLeastMemberEpochs * static_cast<double>(members) : epochs < kLeastEpochs)
    return {};
  const double share = std::clamp(1 - kTaughtStep * kMostTaughtEpochs / epochs, kTaughtShare, kMostShare);
  const double taught = rounded((1 - kTeachersShare) * share * epochs / kTaughtEpochs, kMostTaughtTeachers);
  if (members == 1 && taught > 1 && share * epochs >= kSureMemberEpochs * taught)
    return {static_cast<int64_t>(taught), share};
  const double teachers = rounded(kTeachersShare * epochs / kTeacherEpochs, kMostTeachers);
  return {static_cast<int64_t>(teachers), std::min(kTeachersShare, teachers * kTeacherEpochs / epochs)};
}

Teaching planned_teaching(std::vector<Choice> choices, double seconds, double text_tokens, int64_t members,
                          int64_t slots) {
  const auto epochs = [&](const Choice& choice) {
    return seconds / choice.pace.step * tokens_per_step(choice.config) / text_tokens;
  };
  const Choice usual = choices[0];
  const Choice chosen = planned_choice(
      std::move(choices), [&] { return seconds; },
      [&](const TrainConfig& config) {
        return Pace{usual.pace.step * work_of_step(config) / work_of_step(usual.config)};
      });
  return epochs(chosen) < kLeastEpochs ? Teaching{} : planned_teaching(epochs(usual), members, slots);
}

int64_t last_eval_tokens(const TrainConfig& config, int64_t all) {
  const double work = 3 * static_cast<double>(config.steps) * tokens_per_step(config);
  const auto affordable = static_cast<int64_t>(std::min(work / 25, 1e15));
  return std::min(all, std::max(config.eval_tokens, affordable));
}

double planned_seconds(const TrainConfig& config, const OtherWork& other, const Pace& pace, int64_t done) {
  const int64_t block = config.model.block_size,
                past_block = std::max<int64_t>(0, other.sample_tokens - block);
  const double sample = static_cast<double>(past_block) * static_cast<double>(block) +
                        static_cast<double>(other.sample_tokens) * kCachedToken;
  const double seconds =
      static_cast<double>(config.steps - done) * pace.step + kEndSeconds + sample * pace.eval_token;
  if (other.eval_targets == 0) return seconds;
  const int64_t each =
      config.eval_tokens == 0 ? other.eval_targets : std::min(config.eval_tokens, other.eval_targets);
  const int64_t count = (config.steps + config.eval_every - 1) / config.eval_every - done / config.eval_every;
  const int64_t last = each < other.eval_targets ? last_eval_tokens(config, other.eval_targets) : 0;
  return seconds + pace.eval_token * static_cast<double>(count * each + last * other.ranks);
}

TrainConfig planned(TrainConfig config, double seconds, const OtherWork& other, const Pace& pace,
                    const std::function<bool(const std::string& flag)>& is_given) {
  if (!is_given("eval-tokens") && other.eval_targets > 0) {
    const double affordable =
        kEvaluationShare * seconds / static_cast<double>(kEvaluations) / pace.eval_token;
    config.eval_tokens =
        std::clamp<int64_t>(static_cast<int64_t>(std::min(affordable, 1e9)), config.model.block_size, 32'768);
  }
  return most_steps(config, 1, [&](TrainConfig& candidate) {
    const int64_t tenth = std::max<int64_t>(1, candidate.steps / kEvaluations);
    if (!is_given("eval-every")) candidate.eval_every = tenth;
    if (!is_given("save-every")) candidate.save_every = tenth;
    if (!is_given("warmup")) candidate.warmup = std::min(config.warmup, candidate.steps / 20);
    return candidate.steps <= other.most_steps && planned_seconds(candidate, other, pace) <= seconds;
  });
}

TrainConfig replanned(TrainConfig config, int64_t done, double seconds_left, const OtherWork& other,
                      const Pace& pace) {
  const TrainConfig most = most_steps(config, done, [&](const TrainConfig& candidate) {
    return candidate.steps <= other.most_steps &&
           planned_seconds(candidate, other, pace, done) <= seconds_left;
  });
  config.change_steps(done, most.steps);
  return config;
}

TimeBudget::TimeBudget(TrainConfig plan, const OtherWork& other, std::function<double()> clock)
    : plan_(std::move(plan)),
      other_(other),
      clock_(std::move(clock)),
      seconds_left_(seconds_left()),
      steps_left_(plan_.steps) {}

bool TimeBudget::must_correct(int64_t step) const {
  const double left = seconds_left();
  if (left <= 0) return true;
  if (steps_ < 2 || seconds_left_ < kLastCorrection * 60 * plan_.minutes) return false;
  // Steps count too, because a run that is faster than planned may have none left at that time.
  return left <= kNextCorrection * seconds_left_ ||
         static_cast<double>(plan_.steps - step) <= kNextCorrection * static_cast<double>(steps_left_);
}

int64_t TimeBudget::steps(const StepReport& report) {
  const double all = report.elapsed - report.eval_seconds, taken = all - step_seconds_;
  step_seconds_ = all;
  ++steps_;
  seconds_ += taken;
  longest_ = std::max(longest_, taken);
  if (!must_correct(report.step)) return plan_.steps;

  // Only steps since the last correction, as other programs on the machine may have begun or ended; without
  // the longest step, during which the process may have been stopped.
  const bool has_others = steps_ > 1;
  const double seconds = has_others ? seconds_ - longest_ : seconds_;
  const auto steps = static_cast<double>(has_others ? steps_ - 1 : steps_);
  all_steps_ += steps;
  all_seconds_ += seconds;
  Pace pace{.step = seconds / steps};
  // Evaluations during the run are small, and their tokens cost more than those of the last evaluation: at
  // most a third of a step's. They ran at the mean pace of all steps so far, and slow down as steps do.
  pace.eval_token = pace.step / 3 / tokens_per_step(plan_);
  if (report.eval_tokens > 0)
    pace.eval_token = std::min(pace.eval_token, pace.step * all_steps_ / all_seconds_ * report.eval_seconds /
                                                    static_cast<double>(report.eval_tokens));
  plan_ = replanned(plan_, report.step, seconds_left(), other_, pace);

  seconds_left_ = seconds_left();
  steps_left_ = plan_.steps - report.step;
  steps_ = 0;
  seconds_ = longest_ = 0;
  return plan_.steps;
}

}  // namespace gradus::train
