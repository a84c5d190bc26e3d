#include "gradus/train/trainer/trainer.hpp"

#include <chrono>
#include <cmath>
#include <iostream>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/train/optimizers/adamw.hpp"
#include "gradus/train/optimizers/clip.hpp"
#include "gradus/train/trainer/finite.hpp"

namespace gradus::train {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void check_is_finite(std::string_view what, double value, int64_t step, double lr) {
  if (std::isfinite(value)) return;
  throw RunError(concat("[train] the ", what, " must stay finite, got ", value, " at step ", step,
                        ", learning rate ", lr, ". Hint: lower `lr`, lengthen `warmup`, or lower `clip`."));
}

Recipe with_defaults(Recipe recipe, const nn::Module& model) {
  if (!recipe.optimizer) recipe.optimizer = std::make_unique<AdamW>(model.named_parameters());
  if (!recipe.schedule) recipe.schedule = Schedule{.warmup = recipe.steps / 20, .steps = recipe.steps};
  return recipe;
}

// A forgotten requires_grad_() stops no step: the model only learns less.
void warn_of_untrained(const nn::Module& model) {
  std::string names;
  for (const auto& [name, parameter] : model.named_parameters())
    if (is_floating(parameter.dtype()) && !parameter.requires_grad() && !parameter.impl()->frozen)
      names += concat(names.empty() ? "" : ", ", name);
  if (!names.empty())
    std::cerr << concat(
        "[train] warning: these parameters require no gradient and are not trained: ", names,
        ". Hint: call requires_grad_(), or requires_grad_(false) on those that are to stay.\n");
}

}  // namespace

Trainer::Trainer(nn::Module& model, Recipe recipe)
    : model_(model),
      recipe_((recipe.validate(), with_defaults(std::move(recipe), model))),
      parameters_(model.parameters()),
      data_(Generator(static_cast<uint64_t>(recipe_.seed)).stream("data")),
      dropout_(Generator(static_cast<uint64_t>(recipe_.seed)).stream("dropout")) {
  warn_of_untrained(model);
  if (recipe_.ema > 0) average_.emplace(model.named_parameters(), recipe_.ema);
}

StepReport Trainer::step() {
  const auto start = std::chrono::steady_clock::now();
  const Profiling profiling(profile_ ? profile_ : active_profile);
  const ProfileSpan span("step", ProfileEvent::Phase::group);
  const double lr = recipe_.schedule(step_);
  const double loss = accumulate_gradients();
  check_is_finite("loss", loss, step_ + 1, lr);
  const double norm = norm_of_gradients();
  check_is_finite("gradient", norm, step_ + 1, lr);
  update(lr, clip_scale(norm, recipe_.clip));
  ++step_;
  return {step_, loss, lr, norm, seconds_since(start), tokens_};
}

double Trainer::norm_of_gradients() {
  const ProfileSpan span("clip");
  return grad_norm(parameters_);
}

void Trainer::update(double lr, double scale) {
  const ProfileSpan span(recipe_.optimizer->name());
  const Autocast autocast(recipe_.precision);
  recipe_.optimizer->step(lr, scale);
  if (average_) average_->update();
}

data::Batch Trainer::next_batch() {
  const ProfileSpan span("batch");
  return recipe_.batches(recipe_.batch, data_);
}

double Trainer::accumulate_gradients() {
  const Autocast autocast(recipe_.precision);
  model_.train();
  recipe_.optimizer->zero_grad();
  tokens_ = 0;
  const double share = 1.0 / static_cast<double>(recipe_.accum);
  const Generator data = data_, dropout = dropout_;
  const auto drawn = [&] {
    try {
      return next_batch();
    } catch (...) {  // The step is as if it had not been begun.
      data_ = data;
      dropout_ = dropout;
      throw;
    }
  };
  double mean = 0;
  for (int64_t i = 0; i < recipe_.accum; ++i) {
    const data::Batch batch = drawn();
    const Tensor loss = recipe_.loss(batch, &dropout_) * share;
    mean += loss.item();
    tokens_ += batch.y.numel();
    loss.backward();
  }
  return mean;
}

void Trainer::replan(int64_t steps, Rate schedule) {
  if (steps < step_)
    fail("train", "a plan must have at least the ", step_, " steps that are done, got ", steps, ".");
  recipe_.steps = steps;
  recipe_.schedule = std::move(schedule);
}

TrainerState Trainer::state() const {
  nn::StateDict all = recipe_.optimizer->state_dict();
  if (average_) all.merge(average_->state_dict());
  return {std::move(all), step_, data_.state(), dropout_.state()};
}

void Trainer::check_finite() const {
  std::string name = first_not_finite(model_.state_dict());
  if (name.empty()) name = first_not_finite(recipe_.optimizer->state_dict());
  if (!name.empty())
    throw RunError(concat("[train] the parameters and moments must stay finite, got a value of ", name,
                          " that is not, after step ", step_,
                          ". Hint: start anew with a lower `lr`, a longer `warmup` or a lower `clip`."));
}

void Trainer::restore(const TrainerState& state) {
  Generator data = data_, dropout = dropout_;
  data.set_state(state.data_stream);
  dropout.set_state(state.dropout_stream);
  nn::StateDict optimizer = state.optimizer;
  const nn::StateDict average = average_ ? WeightAverage::take_from(optimizer) : nn::StateDict();
  if (average_) average_->check(average);
  recipe_.optimizer->load_state_dict(optimizer);
  if (average_) average_->load_state_dict(average);
  data_ = data;
  dropout_ = dropout;
  step_ = state.step;
}

}  // namespace gradus::train
