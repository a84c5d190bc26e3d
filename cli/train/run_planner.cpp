#include "gradus/cli/train/run_planner.hpp"

#include <algorithm>
#include <vector>

#include "gradus/cli/program/terminal.hpp"
#include "gradus/data/dataset.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/train/decoder.hpp"

namespace gradus::cli {
namespace {

using Clock = std::chrono::steady_clock;
using train::TrainConfig;

constexpr double kMeasuredShare = 0.01;      // of the time, for each preset
constexpr double kMaxMeasuredSeconds = 3.0;  // for each preset: the plan is corrected during the run
constexpr int64_t kMinSteps = 3;

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<int64_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

/// A model that is trained and evaluated for a short time, and discarded.
struct Trial {
  Trial(const TrainConfig& config, const RunTokens& tokens)
      : dataset(tokens.dataset(config)),
        model(config.model, init),
        trainer(model, train::decoder_recipe(model, train::training_batches(dataset, config), config)) {
    if (dataset.has_validation())
      validation = dataset.validation_sample(train::evaluation_batch(config.model), 1);
  }

  data::TextDataset dataset;
  Generator init{0};
  models::Decoder model;
  train::Trainer trainer;
  std::vector<data::Batch> validation;
};

train::Pace measure(const TrainConfig& config, const RunTokens& tokens) {
  const double seconds = std::min(kMeasuredShare * 60 * config.minutes, kMaxMeasuredSeconds);
  Trial trial(config, tokens);
  train::Trainer& trainer = trial.trainer;
  train::Pace pace;
  (void)trainer.step();
  std::vector<double> steps;
  for (const auto start = Clock::now();
       static_cast<int64_t>(steps.size()) < kMinSteps || seconds_since(start) < seconds;)
    steps.push_back(trainer.step().seconds);
  pace.fastest_step = *std::ranges::min_element(steps);
  pace.step = median(steps);
  pace.eval_token = pace.step / 3 / train::tokens_per_step(config);
  if (trial.validation.empty()) return pace;
  std::vector<double> evaluations;
  for (int64_t i = 0; i < kMinSteps; ++i) {
    const auto start = Clock::now();
    (void)trainer.validation_loss(trial.validation);
    evaluations.push_back(seconds_since(start) / static_cast<double>(data::count_targets(trial.validation)));
  }
  pace.eval_token = std::min(pace.eval_token, median(evaluations));
  return pace;
}

double text_tokens(const RunTokens& tokens, const TrainConfig& config) {
  return static_cast<double>(tokens.dataset(config).tokens(data::Split::train).size());
}

/// The presets to choose from, unless one was given. With a teacher it is the usual one, as a larger one may
/// have a longer context than the teacher.
std::vector<train::Choice> choices(const TrainFlags& flags, const TrainConfig& config) {
  std::vector<train::Choice> presets;
  if (!flags.is_given("preset") && config.init_from.empty() && config.teacher.empty())
    for (const models::Preset& preset : models::architecture(config.model.arch).presets) {
      if (!preset.least_tokens) continue;
      presets.push_back({flags.on_preset(std::string(preset.name)), *preset.least_tokens});
      TrainConfig& next = presets.back().config;
      next.model.vocab_size = config.model.vocab_size;
      next.corpus = config.corpus;
      next.vocab = config.vocab;
    }
  if (presets.empty()) presets.push_back({config});
  return presets;
}

}  // namespace

std::shared_ptr<train::TimeBudget> plan_run(const TrainFlags& flags, const TrainConfig& config,
                                            const RunTokens& tokens, int ranks, Clock::time_point start) {
  const auto seconds_left = [&] { return 60 * flags.config.minutes - seconds_since(start); };
  const auto measured = [&](const TrainConfig& one) { return measure(one, tokens); };
  auto [chosen, least, pace] = train::planned_choice(choices(flags, config), seconds_left, measured);
  const double text = text_tokens(tokens, chosen);
  // A run that reads the text often gets more dropout. A teacher does instead.
  if (!flags.is_given("dropout") && config.init_from.empty() && config.teacher.empty()) {
    const double epochs = seconds_left() / pace.step * train::tokens_per_step(chosen) / text;
    const double dropout =
        train::planned_dropout(epochs, static_cast<double>(chosen.model.num_parameters()) / text);
    if (dropout > chosen.model.dropout) {
      chosen.model.dropout = dropout;
      pace = measured(chosen);  // dropout takes time
    }
  }
  train::OtherWork other{.eval_targets = tokens.dataset(chosen).validation_targets(),
                         .sample_tokens = flags.quiet ? 0 : kClosingSample,
                         .ranks = ranks};
  if (!config.teacher.empty()) other.most_steps = train::most_taught_steps(chosen, text);
  const TrainConfig plan = train::planned(chosen, seconds_left(), other, pace,
                                          [&](const std::string& flag) { return flags.is_given(flag); });
  return std::make_shared<train::TimeBudget>(plan, other, [start] { return seconds_since(start); });
}

train::Teaching plan_teaching(const TrainFlags& flags, const TrainConfig& config, const RunTokens& tokens,
                              int64_t members, Clock::time_point start) {
  std::vector<train::Choice> presets = choices(flags, config);
  presets[0].pace.step = measure(presets[0].config, tokens).fastest_step;
  return train::planned_teaching(presets, 60 * flags.config.minutes - seconds_since(start),
                                 text_tokens(tokens, presets[0].config), members, num_threads());
}

}  // namespace gradus::cli
