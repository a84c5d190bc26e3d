#include "gradus/train/trainer/local_steps.hpp"

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/ops/ops.hpp"

namespace gradus::train {
namespace {

constexpr const char* kPrefix = "outer_";
// DiLoCo's momentum, 0.9, is for hundreds of local steps. With 5 or 20, it adds up to rates that are too
// high: docs/several-machines.md has the losses.
constexpr double kRate = 0.7, kMomentum = 0.6;

/// A change of each rank, as micro-batches of SharedGradients.
LoopOptions one_change_a_rank(LoopOptions loop, const Communicator* ranks) {
  loop.micro = ranks ? ranks->size() : 1;
  return loop;
}

}  // namespace

LocalSteps::LocalSteps(const NamedParameters& parameters, const LoopOptions& loop, Communicator* ranks)
    : outer_(parameters, {.momentum = kMomentum, .nesterov = true}),
      changes_(parameters, outer_, one_change_a_rank(loop, ranks), ranks),
      ranks_(ranks) {
  for (const auto& [name, parameter] : parameters)
    if (parameter.requires_grad()) parameters_.push_back(parameter);
}

void LocalSteps::begin_step() {
  if (has_steps()) return;
  const NoGrad no_grad;
  for (const Tensor& parameter : parameters_) start_.push_back(parameter * 1.0);
}

void LocalSteps::synchronize() {
  const NoGrad no_grad;
  const double share = 1.0 / (ranks_ ? ranks_->size() : 1);
  std::vector<Tensor> changes;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    changes.push_back((start_[i] - parameters_[i]) * share);
    parameters_[i].copy_(start_[i]);
  }
  outer_.zero_grad();
  changes_.begin();
  changes_.collect(ranks_ ? ranks_->rank() : 0, changes);
  changes_.finish();
  changes_.update_parameters([&](const Optimizer::Updated& updated) { outer_.step(kRate, 1, updated); });
  outer_.zero_grad();
  start_.clear();
}

nn::StateDict LocalSteps::state_dict() const {
  nn::StateDict state;
  for (const auto& [name, tensor] : outer_.state_dict()) state[kPrefix + name] = tensor;
  return state;
}

void LocalSteps::gather(const nn::StateDict& optimizer) {
  changes_.gather(state_dict());
  changes_.broadcast(optimizer);
}

nn::StateDict LocalSteps::take_from(nn::StateDict& state) {
  nn::StateDict taken;
  for (auto at = state.lower_bound(kPrefix); at != state.end() && at->first.starts_with(kPrefix);
       at = state.erase(at))
    taken.insert(*at);
  return taken;
}

void LocalSteps::load_state_dict(const nn::StateDict& state) {
  nn::StateDict own;
  for (const auto& [name, tensor] : state) own[name.substr(std::string_view(kPrefix).size())] = tensor;
  outer_.load_state_dict(own);
  start_.clear();
}

}  // namespace gradus::train
