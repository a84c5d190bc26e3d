#include "run_planner.hpp"

#include <algorithm>
#include <iterator>

#include "gradus/autograd/autocast.hpp"
#include "gradus/data/dataset.hpp"
#include "gradus/train/decoder.hpp"
#include "gradus/train/precision.hpp"

namespace gradus::cli {
namespace {

using Clock = std::chrono::steady_clock;
using train::TrainConfig;

constexpr double kMeasured = 0.01;     // of the time, for a preset,
constexpr double kMostMeasured = 3.0;  // but no more seconds: the plan is corrected on the way
constexpr int64_t kFewestSteps = 3;
// The parts of a run, in steps or in time, after which its pace is looked at: closer at its end, where less
// can be made up for.
constexpr double kLooks[] = {0.25, 0.5, 0.7, 0.85, 0.93, 0.97};

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
  models::GPT model(config.model, init);
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
    for (const train::PlannedPreset& choice : train::planned_presets(config.model.arch)) {
      const TrainConfig next = candidate(choice.name);
      // What a step would take at the speed that was measured, and then what it takes.
      const double step = first ? 0 : pace_.step * work_of_step(next) / work_of_step(chosen);
      if (!first && seconds_left() / step * train::tokens_a_step(next) < choice.least_tokens) break;
      const train::Pace pace = measure(next, tokens);
      if (!first && seconds_left() / pace.step * train::tokens_a_step(next) < choice.least_tokens) break;
      chosen = next;
      pace_ = pace;
      first = false;
    }
  }
  settle_dropout(chosen, tokens);
  const int64_t validation = tokens.dataset(chosen).tokens(data::Split::validation).size();
  beside_ = {.eval_targets = std::max<int64_t>(0, validation - 1),
             .sample_tokens = flags_.quiet ? 0 : kClosingSample};
  plan_ = train::planned(chosen, seconds_left(), beside_, pace_,
                         [&](const std::string& flag) { return flags_.is_given(flag); });
  return plan_;
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

bool RunPlanner::Corrector::is_time_to_look(int64_t step) {
  // In time too: where others slow the machine down, the step of the next look would come too late.
  const double done = std::max(static_cast<double>(step) / static_cast<double>(planner_.plan_.steps),
                               1 - planner_.seconds_left() / (60 * planner_.plan_.minutes));
  const size_t before = looks_;
  while (looks_ < std::size(kLooks) && done >= kLooks[looks_]) ++looks_;
  return looks_ > before;
}

void RunPlanner::Corrector::on_step(const train::StepReport& report) {
  if (is_time_to_look(report.step)) {
    train::Pace pace = planner_.pace_;
    // Since the last look: what else the machine does may have changed.
    const Look look{report.step, seconds_since(start_) - eval_seconds_};
    pace.step =
        (look.step_seconds - last_look_.step_seconds) / static_cast<double>(look.step - last_look_.step);
    last_look_ = look;
    // The evaluations on the way are small, and dearer a token than the last one: no more than a third of a
    // step. They were made at the mean pace of all steps so far, and slow down as steps have.
    pace.eval_token = pace.step / 3 / train::tokens_a_step(planner_.plan_);
    const double slowed = pace.step * static_cast<double>(look.step) / look.step_seconds;
    if (eval_tokens_ > 0) pace.eval_token = std::min(pace.eval_token, slowed * eval_seconds_ / eval_tokens_);
    planner_.plan_ =
        train::replanned(planner_.plan_, report.step, planner_.seconds_left(), planner_.beside_, pace);
    trainer_.replan(planner_.plan_.steps, planner_.plan_.schedule());
    progress_.set_steps(planner_.plan_.steps);
    on_corrected_(planner_.plan_);
  }
  progress_.on_step(report);
}

void RunPlanner::Corrector::before_eval() {
  eval_start_ = Clock::now();
  progress_.before_eval();
}

void RunPlanner::Corrector::on_eval(const train::EvalReport& report) {
  eval_seconds_ += seconds_since(eval_start_);
  eval_tokens_ += static_cast<double>(report.tokens);
  progress_.on_eval(report);
}

}  // namespace gradus::cli
