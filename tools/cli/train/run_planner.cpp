#include "gradus/tools/cli/train/run_planner.hpp"

#include <algorithm>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/data/dataset.hpp"
#include "gradus/models/architecture.hpp"
#include "gradus/train/decoder.hpp"
#include "gradus/train/trainer/precision.hpp"

namespace gradus::cli {
namespace {

using Clock = std::chrono::steady_clock;
using train::TrainConfig;

constexpr double kMeasured = 0.01;     // of the time, for a preset,
constexpr double kMostMeasured = 3.0;  // but no more seconds: the plan is corrected on the way
constexpr int64_t kFewestSteps = 3;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<int64_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

/// Multiplications and additions of a step, all but attention's.
double work_of_step(const TrainConfig& config) {
  return train::tokens_a_step(config) * static_cast<double>(config.model.num_parameters());
}

/// By steps of a model that is thrown away.
train::Pace measure(const TrainConfig& config, const RunTokens& tokens) {
  const double seconds = std::min(kMeasured * 60 * config.minutes, kMostMeasured);
  const data::TextDataset dataset = tokens.dataset(config);
  Generator init(0);
  models::Decoder model(config.model, init);
  train::Trainer trainer(model, train::decoder_recipe(model, dataset.training_batches(), config));
  train::Pace pace;
  (void)trainer.step();
  std::vector<double> steps;
  for (const auto start = Clock::now();
       static_cast<int64_t>(steps.size()) < kFewestSteps || seconds_since(start) < seconds;)
    steps.push_back(trainer.step().seconds);
  pace.step = median(steps);
  pace.eval_token = pace.step / 3 / train::tokens_a_step(config);
  if (!dataset.has_validation()) return pace;
  const auto batches = dataset.validation_sample(train::evaluation_batch(config.model), 1);
  const Autocast autocast(train::precision_from(config.precision));
  std::vector<double> evaluations;
  for (int64_t i = 0; i < kFewestSteps; ++i) {
    const auto start = Clock::now();
    (void)train::mean_loss(model, batches);
    evaluations.push_back(seconds_since(start) / static_cast<double>(data::count_targets(batches)));
  }
  pace.eval_token = std::min(pace.eval_token, median(evaluations));
  return pace;
}

}  // namespace

double RunPlanner::seconds_left() const { return 60 * flags_.config.minutes - seconds_since(start_); }

TrainConfig RunPlanner::plan(const TrainConfig& config, const RunTokens& tokens) {
  const auto candidate = [&](const std::string& name) {
    TrainConfig merged = flags_.on_preset(name);
    merged.model.vocab_size = config.model.vocab_size;
    merged.corpus = config.corpus;
    return merged;
  };
  TrainConfig chosen = config;
  if (flags_.is_given("preset") || !config.init_from.empty()) {
    pace_ = measure(chosen, tokens);
  } else {
    bool first = true;
    for (const models::Preset& choice : models::architecture(config.model.arch).presets) {
      if (!choice.least_tokens) continue;
      const TrainConfig next = candidate(std::string(choice.name));
      // What a step would take at the speed that was measured, and then what it takes.
      const double step = first ? 0 : pace_.step * work_of_step(next) / work_of_step(chosen);
      if (!first && seconds_left() / step * train::tokens_a_step(next) < *choice.least_tokens) break;
      const train::Pace pace = measure(next, tokens);
      if (!first && seconds_left() / pace.step * train::tokens_a_step(next) < *choice.least_tokens) break;
      chosen = next;
      pace_ = pace;
      first = false;
    }
  }
  settle_dropout(chosen, tokens);
  const int64_t validation = tokens.dataset(chosen).tokens(data::Split::validation).size();
  beside_ = {.eval_targets = std::max<int64_t>(0, validation - 1),
             .sample_tokens = flags_.quiet ? 0 : kClosingSample};
  return train::planned(chosen, seconds_left(), beside_, pace_,
                        [&](const std::string& flag) { return flags_.is_given(flag); });
}

void RunPlanner::settle_dropout(TrainConfig& config, const RunTokens& tokens) {
  if (flags_.is_given("dropout") || !config.init_from.empty()) return;
  const auto text = static_cast<double>(tokens.dataset(config).tokens(data::Split::train).size());
  const double epochs = seconds_left() / pace_.step * train::tokens_a_step(config) / text;
  const double dropout =
      train::planned_dropout(epochs, static_cast<double>(config.model.num_parameters()) / text);
  if (dropout <= config.model.dropout) return;
  config.model.dropout = dropout;
  pace_ = measure(config, tokens);
}

void RunPlanner::Corrector::on_step(const train::StepReport& report) {
  if (plan_.after_step(report.step)) {
    trainer_.replan(plan_.plan().steps, plan_.plan().schedule());
    progress_.set_steps(plan_.plan().steps);
    on_corrected_(plan_.plan());
  }
  progress_.on_step(report);
}

void RunPlanner::Corrector::before_eval() {
  plan_.before_eval();
  progress_.before_eval();
}

void RunPlanner::Corrector::on_eval(const train::EvalReport& report) {
  plan_.after_eval(report.tokens);
  progress_.on_eval(report);
}

}  // namespace gradus::cli
