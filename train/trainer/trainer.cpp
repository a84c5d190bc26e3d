#include "gradus/train/trainer/trainer.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <limits>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/files/file.hpp"
#include "gradus/train/optimizers/adamw.hpp"
#include "gradus/train/optimizers/clip.hpp"

namespace gradus::train {
namespace {

constexpr int kOrderTag = 1 << 20;

/// An order of rank 0 to the other ranks, as a message.
struct Command {
  int64_t order = 0;
  double lr = 0;  // of a step
};

/// A loss or a gradient that is not finite: all ranks find it in the same step.
struct NotFinite : RunError {
  using RunError::RunError;
};

/// The mean losses of batches first, first + stride and so on, without dropout and without recording.
std::vector<double> losses_of(nn::Module& model, const Loss& loss, const std::vector<data::Batch>& batches,
                              size_t first, size_t stride) {
  const nn::EvaluationMode evaluation(model);
  const NoGrad no_grad;
  std::vector<double> losses;
  for (size_t i = first; i < batches.size(); i += stride) losses.push_back(loss(batches[i]).item());
  return losses;
}

/// The mean over all targets.
double mean_of(const std::vector<double>& losses, const std::vector<data::Batch>& batches) {
  double sum = 0;
  for (size_t i = 0; i < batches.size(); ++i) sum += losses[i] * static_cast<double>(batches[i].y.numel());
  return sum / static_cast<double>(data::count_targets(batches));
}

void check_is_finite(std::string_view what, double value, const StepReport& step) {
  if (std::isfinite(value)) return;
  throw NotFinite("[train] the ", what, " must stay finite, got ", value, " at step ", step.step,
                  ", learning rate ", step.lr, ". Hint: lower ", Option{"lr"}, ", lengthen ",
                  Option{"warmup"}, ", or lower ", Option{"clip"}, ".");
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

Trainer::Trainer(nn::Module& model, Recipe recipe, Communicator* ranks)
    : model_(model),
      recipe_((recipe.validate(), with_defaults(std::move(recipe), model))),
      parameters_(model.parameters()),
      data_(Generator(static_cast<uint64_t>(recipe_.loop.seed)).stream("data")),
      dropout_(Generator(static_cast<uint64_t>(recipe_.loop.seed)).stream("dropout")),
      ranks_(ranks && ranks->size() > 1 ? ranks : nullptr) {
  if (leads()) warn_of_untrained(model);
  if (recipe_.loop.ema > 0) average_.emplace(model.named_parameters(), recipe_.loop.ema);
  if (!ranks_ && recipe_.loop.micro == 1) return;
  const NamedParameters parameters = model.named_parameters();
  std::vector<double> costs;
  for (const NamedParameter& one : parameters) costs.push_back(recipe_.optimizer->update_cost(one));
  shared_ = std::make_unique<SharedGradients>(parameters, costs, recipe_.loop.micro, ranks_);
}

Trainer::~Trainer() {
  if (!leads()) return;
  try {
    lead(Order::end);
  } catch (const std::exception&) {  // A rank that does not answer cannot follow either.
  }
}

void Trainer::lead(Order order, double lr) const {
  if (!ranks_) return;
  const Command command{.order = static_cast<int64_t>(order), .lr = lr};
  for (int to = 1; to < ranks_->size(); ++to) ranks_->send(to, kOrderTag, &command, sizeof command);
  ranks_->wait();
}

void Trainer::follow(const std::vector<data::Batch>& validation) {
  if (leads()) fail("train", "follow() is for ranks other than 0, got a trainer of rank 0.");
  try {
    for (;;) {
      Command command;
      ranks_->receive(0, kOrderTag, &command, sizeof command);
      ranks_->wait();
      const auto order = static_cast<Order>(command.order);
      if (order == Order::end) return;
      try {
        if (order == Order::step) make_step(command.lr);
      } catch (const NotFinite&) {  // rank 0 has the same error, and reports it
      }
      if (order == Order::evaluate) {
        const AveragedWeights averaged(average());
        share_loss(validation);
      }
      if (order == Order::gather) (void)state();
    }
  } catch (const std::exception& e) {
    ranks_->abort(e.what());
  }
}

StepReport Trainer::step() {
  const double lr = recipe_.schedule(step_);
  if (!ranks_) return make_step(lr);
  try {
    return make_step(lr);
  } catch (const NotFinite&) {
    throw;
  } catch (const files::ReadFailed&) {  // before the others began
    throw;
  } catch (const std::exception& e) {
    ranks_->abort(e.what());
    throw;
  }
}

StepReport Trainer::make_step(double lr) {
  const auto start = std::chrono::steady_clock::now();
  const Profiling profiling(profile_ ? profile_ : active_profile);
  const ProfileSpan span("step", ProfileEvent::Phase::group);
  StepReport report{.step = step_ + 1, .lr = lr};
  if (shared_)
    share_gradients(report);
  else
    accumulate_gradients(report);
  check_is_finite("loss", report.loss, report);
  {
    const ProfileSpan clip("clip");
    report.grad_norm = shared_ ? shared_->grad_norm() : grad_norm(parameters_);
  }
  check_is_finite("gradient", report.grad_norm, report);
  {
    const ProfileSpan update(recipe_.optimizer->name());
    const Autocast autocast(recipe_.loop.precision);
    recipe_.optimizer->step(report.lr, clip_scale(report.grad_norm, recipe_.loop.clip));
    if (shared_) shared_->spread_parameters();
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

void Trainer::share_gradients(StepReport& report) {
  const Autocast autocast(recipe_.loop.precision);
  model_.train();
  const LoopOptions& loop = recipe_.loop;
  const MicroRange mine = shared_->mine();
  const Generator seed(static_cast<uint64_t>(loop.seed));
  const auto stream = [&](std::string_view purpose, int64_t i) {
    return seed.stream(concat(purpose, " ", report.step, ".", i));
  };
  // All are read before the other ranks begin: rank 0 saves if the text cannot be read.
  std::vector<std::vector<data::Batch>> batches;
  for (int64_t i = mine.begin; i < mine.end; ++i) {
    const ProfileSpan span("batch");
    std::vector<data::Batch>& drawn = batches.emplace_back();
    if (loop.micro == 1) {  // the streams of one process
      const Generator data = data_;
      try {
        for (int64_t a = 0; a < loop.accum; ++a) drawn.push_back(recipe_.batches(loop.batch, data_));
      } catch (...) {
        data_ = data;
        throw;
      }
    } else {
      Generator data = stream("data", i);
      drawn.push_back(recipe_.batches(micro_batch_size(), data));
    }
  }
  if (leads()) lead(Order::step, report.lr);

  shared_->begin();
  std::vector<double> losses;
  for (int64_t i = mine.begin; i < mine.end; ++i) {
    const std::vector<data::Batch>& drawn = batches[static_cast<size_t>(i - mine.begin)];
    Generator own = stream("dropout", i);
    Generator* const dropout = loop.micro == 1 ? &dropout_ : &own;
    const double share = 1.0 / static_cast<double>(loop.micro == 1 ? loop.accum : loop.micro);
    double total = 0;
    recipe_.optimizer->zero_grad();
    shared_->collect(i, drawn.size(), [&](size_t k) {
      const Tensor loss = recipe_.loss(drawn[k], dropout) * share;
      total += loss.item();
      loss.backward();
      report.tokens += drawn[k].y.numel();
    });
    losses.push_back(total);
  }
  shared_->finish();
  std::vector<size_t> counts;
  for (int r = 0; r < (ranks_ ? ranks_->size() : 1); ++r) {
    const MicroRange range = shared_->range_of(r);
    counts.push_back(static_cast<size_t>(range.end - range.begin));
  }
  for (const double loss : shared_->exchange(losses, counts)) report.loss += loss;
  report.tokens = report.tokens * loop.micro / std::max<int64_t>(1, mine.end - mine.begin);
}

bool Trainer::set_steps(int64_t steps) {
  const int64_t before = recipe_.loop.steps;
  recipe_.loop.steps = std::max(steps, step_);
  return recipe_.loop.steps != before;
}

double Trainer::validation_loss(const std::vector<data::Batch>& batches) {
  if (batches.empty()) fail("evaluate", "needs at least one batch, got none.");
  lead(Order::evaluate);
  return share_loss(batches);
}

double Trainer::share_loss(const std::vector<data::Batch>& batches) {
  const Autocast products(recipe_.loop.precision);
  const size_t ranks = ranks_ ? static_cast<size_t>(ranks_->size()) : 1;
  if (ranks == 1) return mean_loss(model_, recipe_.loss, batches);
  const size_t first = static_cast<size_t>(ranks_->rank());
  std::vector<size_t> counts(ranks, 0);
  for (size_t i = 0; i < batches.size(); ++i) ++counts[i % ranks];
  const std::vector<double> all =
      shared_->exchange(losses_of(model_, recipe_.loss, batches, first, ranks), counts);
  std::vector<double> losses(batches.size());  // in the order of the batches
  for (size_t r = 0, next = 0; r < ranks; ++r)
    for (size_t i = r; i < batches.size(); i += ranks) losses[i] = all[next++];
  return mean_of(losses, batches);
}

TrainerState Trainer::state() const {
  nn::StateDict all = recipe_.optimizer->state_dict();
  if (ranks_) {
    if (leads()) lead(Order::gather);
    shared_->gather(all);
  }
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
  return mean_of(losses_of(model, loss, batches, 0, 1), batches);
}

}  // namespace gradus::train
