#include "gradus/train/trainer/trainer.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <limits>
#include <numeric>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/files/file.hpp"
#include "gradus/train/optimizers/adamw.hpp"
#include "gradus/train/optimizers/clip.hpp"
#include "gradus/train/trainer/local_steps.hpp"
#include "gradus/train/trainer/trace_events.hpp"

namespace gradus::train {
namespace {

constexpr int kOrderTag = 1 << 20;

/// An order of rank 0 to the other ranks, as a message.
struct Command {
  int64_t order = 0;
  double number = 0;  // the learning rate of a step; whether to profile
};

/// A loss or a gradient that is not finite: all ranks find it in the same step.
struct NotFinite : RunError {
  using RunError::RunError;
};

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
  const LoopOptions& loop = recipe_.loop;
  if (loop.sync_every > 1) {
    if (loop.micro % size() != 0)
      fail("train", Option{"micro"}, " must be a multiple of the ", size(), " ranks, as ",
           Option{"sync_every"}, " is above 1, got ", loop.micro, ".");
    local_ = std::make_unique<LocalSteps>(model.named_parameters(), loop, ranks_);
  } else if (ranks_ || loop.micro > 1) {
    shared_ = std::make_unique<SharedGradients>(model.named_parameters(), *recipe_.optimizer, loop, ranks_);
  }
}

Trainer::~Trainer() {
  if (!leads()) return;
  try {
    lead(Order::end);
  } catch (const std::exception&) {  // A rank that does not answer cannot follow either.
  }
}

void Trainer::lead(Order order, double number) const {
  if (!ranks_) return;
  const Command command{.order = static_cast<int64_t>(order), .number = number};
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
        obey(order, command.number, validation);
      } catch (const NotFinite&) {  // rank 0 has the same error, and reports it
        if (local_) throw;
      }
    }
  } catch (const std::exception& e) {
    ranks_->abort(e.what());
  }
}

void Trainer::obey(Order order, double number, const std::vector<data::Batch>& validation) {
  if (order == Order::step) make_step(number);
  if (order == Order::synchronize) local_->synchronize();
  if (order == Order::gather) (void)state();
  if (order == Order::take_trace) (void)take_trace();
  if (order == Order::evaluate) {
    const AveragedWeights averaged(average());
    evaluate(validation);
  }
  if (order == Order::profile) {
    if (number != 0) own_profile_ = std::make_unique<Profile>();
    record(number != 0 ? own_profile_.get() : nullptr);
  }
}

StepReport Trainer::step(LayerReport* layers) {
  const double lr = recipe_.schedule(step_);
  try {
    const auto start = std::chrono::steady_clock::now();
    StepReport report = make_step(lr, layers);
    if (step_ % recipe_.loop.sync_every == 0) synchronize();
    report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return report;
  } catch (const NotFinite&) {
    throw;
  } catch (const files::ReadFailed&) {  // before the others began
    throw;
  } catch (const std::exception& e) {
    if (ranks_) ranks_->abort(e.what());
    throw;
  }
}

void Trainer::synchronize() {
  if (!local_ || !local_->has_steps()) return;
  lead(Order::synchronize);
  local_->synchronize();
}

void Trainer::profile_into(Profile* profile) {
  if (profile != profile_) lead(Order::profile, profile ? 1 : 0);
  record(profile);
}

void Trainer::record(Profile* profile) {
  profile_ = profile;
  if (profile) messages_.clear();
  if (ranks_) ranks_->record(profile ? &messages_ : nullptr);
}

StepReport Trainer::make_step(double lr, LayerReport* layers) {
  const Profiling profiling(profile_ ? profile_ : active_profile);
  const ProfileSpan span("step", ProfileEvent::Phase::group);
  StepReport report{.step = step_ + 1, .lr = lr};
  compute_gradients(report);
  check_is_finite("loss", report.loss, report);
  {
    const ProfileSpan clip("clip");
    report.grad_norm = shared_ ? shared_->grad_norm() : grad_norm(parameters_);
  }
  check_is_finite("gradient", report.grad_norm, report);
  const std::vector<Tensor> before = layers ? copied_parameters() : std::vector<Tensor>();
  {
    const ProfileSpan update(recipe_.optimizer->name());
    const Autocast autocast(recipe_.loop.precision);
    const auto update_all = [&](const Optimizer::Updated& updated) {
      recipe_.optimizer->step(report.lr, clip_scale(report.grad_norm, recipe_.loop.clip), updated);
    };
    if (shared_)
      shared_->update_parameters(update_all);
    else
      update_all({});
    if (average_) average_->update();
  }
  step_ = report.step;
  if (layers) measure_update(before, *layers);
  return report;
}

void Trainer::compute_gradients(StepReport& report) {
  const Autocast autocast(recipe_.loop.precision);
  model_.train();
  recipe_.optimizer->zero_grad();
  const LoopOptions& loop = recipe_.loop;
  const MicroRange mine = micro_range(loop.micro, ranks_ ? ranks_->rank() : 0, size());
  const int64_t count = mine.end - mine.begin;
  const Generator seed(static_cast<uint64_t>(loop.seed));
  const auto stream = [&](std::string_view purpose, int64_t i) {
    return seed.stream(concat(purpose, " ", report.step, ".", i));
  };
  // All are read before the other ranks begin: rank 0 saves if the text cannot be read.
  std::vector<std::vector<data::Batch>> batches;
  const int64_t examples = loop.batch * loop.accum;
  for (int64_t i = mine.begin; i < mine.end; ++i) {
    std::vector<data::Batch>& drawn = batches.emplace_back();
    const auto draw = [&](int64_t each, Generator& from, int64_t before) {
      const ProfileSpan span("batch");
      drawn.push_back(recipe_.batches(each, from, step_ * examples + before));
    };
    if (loop.micro == 1) {  // the streams of one process
      const Generator data = data_;
      try {
        for (int64_t a = 0; a < loop.accum; ++a) draw(loop.batch, data_, a * loop.batch);
      } catch (...) {
        data_ = data;
        throw;
      }
    } else {
      Generator data = stream("data", i);
      draw(examples / loop.micro, data, i * examples / loop.micro);
    }
  }
  if (leads()) lead(Order::step, report.lr);

  double all_targets = 0;
  for (const auto& drawn : batches) all_targets += static_cast<double>(data::count_targets(drawn));
  report.tokens = static_cast<int64_t>(all_targets);
  if (shared_) {
    const std::vector<double> sums = exchange(ranks_, {all_targets}, std::vector<size_t>(size(), 1));
    all_targets = std::accumulate(sums.begin(), sums.end(), 0.0);
  }
  if (all_targets == 0) fail("train", "a step must have a target, got none in its batches.");

  if (shared_) shared_->begin();
  if (local_) local_->begin_step();
  std::vector<double> losses;
  for (int64_t i = mine.begin; i < mine.end; ++i) {
    const std::vector<data::Batch>& drawn = batches[static_cast<size_t>(i - mine.begin)];
    Generator own = stream("dropout", i);
    Generator* const dropout = loop.micro == 1 ? &dropout_ : &own;
    double& total = losses.emplace_back(0);
    const auto backward = [&](size_t k) {
      const auto targets = static_cast<double>(drawn[k].targets());
      if (targets == 0) return;  // the mean over none is NaN
      const Tensor loss = recipe_.loss(drawn[k], dropout) * (targets / all_targets);
      total += loss.item();
      loss.backward();
    };
    if (shared_) {
      shared_->collect(i, drawn.size(), backward);
    } else {
      for (size_t k = 0; k < drawn.size(); ++k) backward(k);
    }
  }
  if (shared_) {
    shared_->finish();
    std::vector<size_t> counts;
    for (int r = 0; r < size(); ++r) {
      const MicroRange range = micro_range(loop.micro, r, size());
      counts.push_back(static_cast<size_t>(range.end - range.begin));
    }
    losses = exchange(ranks_, losses, counts);
  }
  for (const double loss : losses) report.loss += loss;  // with local steps, that of this rank
  report.tokens = report.tokens * loop.micro / std::max<int64_t>(1, count);
}

std::pair<std::string, MessageTime> Trainer::take_trace() {
  if (leads()) lead(Order::take_trace);
  const int rank = ranks_ ? ranks_->rank() : 0;
  if (ranks_) ranks_->record(nullptr);
  std::string events = trace_events(*profile_, messages_, rank);
  MessageTime time = message_time(messages_);
  profile_ = nullptr;
  if (!ranks_) return {std::move(events), time};
  const std::vector<double> all =
      exchange(ranks_, {static_cast<double>(events.size()), time.total, time.hidden},
               std::vector<size_t>(static_cast<size_t>(size()), 3));
  if (!leads()) {
    ranks_->send(0, kOrderTag, events.data(), std::ssize(events));
    ranks_->wait();
    return {};
  }
  for (size_t r = 1; r < all.size() / 3; ++r) {
    std::string others(static_cast<size_t>(all[3 * r]), '\0');
    ranks_->receive(static_cast<int>(r), kOrderTag, others.data(), std::ssize(others));
    ranks_->wait();
    events += ",\n" + others;
    time.total += all[3 * r + 1];
    time.hidden += all[3 * r + 2];
  }
  return {std::move(events), time};
}

bool Trainer::set_steps(int64_t steps) {
  const int64_t before = recipe_.loop.steps;
  recipe_.loop.steps = std::max(steps, step_);
  return recipe_.loop.steps != before;
}

double Trainer::validation_loss(const std::vector<data::Batch>& batches) {
  if (batches.empty()) fail("evaluate", "needs at least one batch, got none.");
  synchronize();
  lead(Order::evaluate);
  return evaluate(batches);
}

double Trainer::evaluate(const std::vector<data::Batch>& batches) {
  const Autocast products(recipe_.loop.precision);
  return mean_loss(model_, recipe_.loss, batches, ranks_);
}

TrainerState Trainer::state() {
  nn::StateDict all = recipe_.optimizer->state_dict();
  if (leads()) {
    synchronize();
    lead(Order::gather);
  }
  if (shared_) shared_->gather(all);
  if (local_) {
    local_->gather(all);
    all.merge(local_->state_dict());
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
  const nn::StateDict outer = local_ ? LocalSteps::take_from(optimizer) : nn::StateDict();
  if (local_) local_->load_state_dict(outer);
  recipe_.optimizer->load_state_dict(optimizer);
  if (average_) average_->load_state_dict(average);
  data_ = data;
  dropout_ = dropout;
  step_ = state.step;
}

}  // namespace gradus::train
