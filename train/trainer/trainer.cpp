#include "gradus/train/trainer/trainer.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <limits>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/train/optimizers/adamw.hpp"
#include "gradus/train/optimizers/clip.hpp"

namespace gradus::train {
namespace {

void check_is_finite(std::string_view what, double value, const StepReport& step) {
  if (std::isfinite(value)) return;
  throw RunError("[train] the ", what, " must stay finite, got ", value, " at step ", step.step,
                 ", learning rate ", step.lr, ". Hint: lower ", Option{"lr"}, ", lengthen ", Option{"warmup"},
                 ", or lower ", Option{"clip"}, ".");
}

Recipe with_defaults(Recipe recipe, const nn::Module& model) {
  if (!recipe.optimizer) recipe.optimizer = std::make_unique<AdamW>(model.named_parameters());
  if (!recipe.schedule)
    recipe.schedule = Schedule{.warmup = recipe.loop.steps / 20, .steps = recipe.loop.steps};
  return recipe;
}

/// The name of the first floating tensor with a value that is not finite; "" if there is none.
std::string first_not_finite(const nn::StateDict& tensors) {
  for (const auto& [name, tensor] : tensors) {
    if (tensor.dtype() != DType::float32 && tensor.dtype() != DType::float64) continue;
    const Tensor packed = tensor.detach().contiguous();
    const bool finite = dispatch_float("first_not_finite", packed.dtype(), [&]<class T>() {
      const T* const values = packed.data<T>();
      bool all = true;  // The loop does not end early, so that the compiler vectorizes it.
      for (int64_t i = 0; i < packed.numel(); ++i)
        all &= std::abs(values[i]) <= std::numeric_limits<T>::max();
      return all;
    });
    if (!finite) return name;
  }
  return "";
}

// A forgotten requires_grad_() causes no error; the model only learns less.
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
      data_(Generator(static_cast<uint64_t>(recipe_.loop.seed)).stream("data")),
      dropout_(Generator(static_cast<uint64_t>(recipe_.loop.seed)).stream("dropout")) {
  warn_of_untrained(model);
  if (recipe_.loop.ema > 0) average_.emplace(model.named_parameters(), recipe_.loop.ema);
}

StepReport Trainer::step() {
  const auto start = std::chrono::steady_clock::now();
  const Profiling profiling(profile_ ? profile_ : active_profile);
  const ProfileSpan span("step", ProfileEvent::Phase::group);
  StepReport report{.step = step_ + 1, .lr = recipe_.schedule(step_)};
  accumulate_gradients(report);
  check_is_finite("loss", report.loss, report);
  {
    const ProfileSpan clip("clip");
    report.grad_norm = grad_norm(parameters_);
  }
  check_is_finite("gradient", report.grad_norm, report);
  {
    const ProfileSpan update(recipe_.optimizer->name());
    const Autocast autocast(recipe_.loop.precision);
    recipe_.optimizer->step(report.lr, clip_scale(report.grad_norm, recipe_.loop.clip));
    if (average_) average_->update();
  }
  step_ = report.step;
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

void Trainer::accumulate_gradients(StepReport& report) {
  const Autocast autocast(recipe_.loop.precision);
  model_.train();
  recipe_.optimizer->zero_grad();
  const double share = 1.0 / static_cast<double>(recipe_.loop.accum);
  const Generator data = data_, dropout = dropout_;
  const auto next_batch = [&] {
    const ProfileSpan span("batch");
    try {
      return recipe_.batches(recipe_.loop.batch, data_);
    } catch (...) {  // Undo the step so far.
      data_ = data;
      dropout_ = dropout;
      throw;
    }
  };
  for (int64_t i = 0; i < recipe_.loop.accum; ++i) {
    const data::Batch batch = next_batch();
    const Tensor loss = recipe_.loss(batch, &dropout_) * share;
    report.loss += loss.item();
    report.tokens += batch.y.numel();
    loss.backward();
  }
}

bool Trainer::set_steps(int64_t steps) {
  const int64_t before = recipe_.loop.steps;
  recipe_.loop.steps = std::max(steps, step_);
  return recipe_.loop.steps != before;
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
    throw RunError("[train] the parameters and moments must stay finite, got a value of ", name,
                   " that is not, after step ", step_, ". Hint: start a new run with a lower ", Option{"lr"},
                   ", a longer ", Option{"warmup"}, " or a lower ", Option{"clip"}, ".");
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

double mean_loss(nn::Module& model, const Loss& loss, const std::vector<data::Batch>& batches) {
  if (batches.empty()) fail("evaluate", "needs at least one batch, got none.");
  const nn::EvaluationMode evaluation(model);
  const NoGrad no_grad;
  double sum = 0;
  int64_t count = 0;
  for (const data::Batch& batch : batches) {
    sum += loss(batch).item() * static_cast<double>(batch.y.numel());
    count += batch.y.numel();
  }
  return sum / static_cast<double>(count);
}

}  // namespace gradus::train
