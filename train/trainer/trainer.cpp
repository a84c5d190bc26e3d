#include "gradus/train/trainer/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/train/optimizers/adamw.hpp"
#include "gradus/train/trainer/gradient_exchange.hpp"
#include "gradus/train/trainer/trace_events.hpp"

namespace gradus::train {
namespace {

constexpr int kOrderTag = 1 << 20;

/// An order of rank 0 to the other ranks, as a message.
struct Command {
  int64_t order = 0;
  double number = 0;  // the learning rate of a step; whether to profile
};

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
    if (!parameter.requires_grad() && !parameter.impl()->frozen)
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
  for (const auto& [name, parameter] : recipe_.optimizer->parameters())
    if (std::ranges::find(parameters_, parameter.impl(), &Tensor::impl) == parameters_.end())
      fail("train", "the optimizer must hold parameters of the model, got another tensor, ", name,
           ". Hint: make it from model.named_parameters(), after to(); a parameter of the loss belongs in "
           "the "
           "model's visit().");
  if (leads()) warn_of_untrained(model);
  if (recipe_.loop.ema > 0) average_.emplace(model.named_parameters(), recipe_.loop.ema);
  exchange_ = make_exchange(model.named_parameters(), *recipe_.optimizer, recipe_.loop, ranks_);
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
      }
    }
  } catch (const std::exception& e) {
    ranks_->abort(e.what());
  }
}

void Trainer::obey(Order order, double number, const std::vector<data::Batch>& validation) {
  if (order == Order::step) make_step(number);
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

void Trainer::profile_into(Profile* profile) {
  if (profile != profile_) lead(Order::profile, profile ? 1 : 0);
  record(profile);
}

void Trainer::record(Profile* profile) {
  profile_ = profile;
  if (profile) messages_.clear();
  if (ranks_) ranks_->record(profile ? &messages_ : nullptr);
}

std::string Trainer::take_trace() {
  if (leads()) lead(Order::take_trace);
  if (ranks_) ranks_->record(nullptr);
  std::string events = trace_events(*profile_, messages_, rank());
  profile_ = nullptr;
  const std::vector<double> sizes = all_ranks(ranks_, static_cast<double>(events.size()));
  if (!leads()) {
    ranks_->send(0, kOrderTag, events.data(), std::ssize(events));
    ranks_->wait();
    return {};
  }
  for (size_t r = 1; r < sizes.size(); ++r) {
    std::string others(static_cast<size_t>(sizes[r]), '\0');
    ranks_->receive(static_cast<int>(r), kOrderTag, others.data(), std::ssize(others));
    ranks_->wait();
    events += ",\n" + others;
  }
  return events;
}

bool Trainer::set_steps(int64_t steps) {
  const int64_t before = recipe_.loop.steps;
  recipe_.loop.steps = std::max(steps, step_);
  return recipe_.loop.steps != before;
}

double Trainer::validation_loss(const std::vector<data::Batch>& batches) {
  if (batches.empty()) fail("evaluate", "needs at least one batch, got none.");
  lead(Order::evaluate);
  return evaluate(batches);
}

double Trainer::evaluate(const std::vector<data::Batch>& batches) {
  const Autocast products(recipe_.loop.precision);
  return mean_loss(model_, recipe_.loss, batches, ranks_);
}

TrainerState Trainer::state() {
  nn::StateDict all = recipe_.optimizer->state_dict();
  if (leads()) lead(Order::gather);
  exchange_->gather(all);
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
  if (average_) average_->check_state(average);
  recipe_.optimizer->load_state_dict(optimizer);
  if (average_) average_->load_state_dict(average);
  data_ = data;
  dropout_ = dropout;
  step_ = state.step;
}

}  // namespace gradus::train
