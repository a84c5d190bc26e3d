#include "gradus/train/trainer/layers.hpp"

#include <algorithm>
#include <limits>

#include "gradus/autograd/engine/backward.hpp"
#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/train/optimizers/clip.hpp"
#include "gradus/train/trainer/trainer.hpp"

namespace gradus::train {

UpdateMeasurement::UpdateMeasurement(const nn::NamedParameters& parameters) {
  for (const nn::NamedParameter& parameter : parameters) {
    if (!parameter.second.requires_grad()) continue;
    parameters_.push_back(parameter);
    before_.push_back(empty(parameter.second.shape(), parameter.second.dtype()));
    before_.back().copy_(parameter.second.detach());
    const Tensor gradient = parameter.second.grad();
    grad_norms_.push_back(gradient.defined() ? norm({gradient}) : std::numeric_limits<double>::quiet_NaN());
  }
}

std::vector<ParameterNorms> UpdateMeasurement::norms() const {
  const NoGrad no_grad;
  std::vector<ParameterNorms> all;
  for (size_t i = 0; i < before_.size(); ++i) {
    const Tensor after = parameters_[i].second.detach();
    all.push_back({parameters_[i].first, norm({after}), grad_norms_[i], norm({after - before_[i]})});
  }
  return all;
}

void Trainer::measure_part(LayerReport& layers) const {
  const LoopOptions& loop = recipe_.loop;
  const int64_t examples = loop.batch * loop.accum;
  const int64_t part = examples / std::max<int64_t>(2, std::max(loop.micro, loop.accum));
  if (part == 0) return;
  Generator data = data_, dropout = dropout_;
  const Autocast autocast(loop.precision);
  model_.train();
  std::vector<Tensor> trained, gradients;
  for (const Tensor& parameter : parameters_)
    if (parameter.requires_grad()) trained.push_back(parameter);
  const Tensor loss = recipe_.loss(recipe_.batches(part, data, step_ * examples), &dropout);
  for (Tensor& gradient : grad({loss}, trained, {.allow_unused = true}))
    if (gradient.defined()) gradients.push_back(std::move(gradient));
  layers.part_examples = part;
  layers.part_grad_norm = norm(gradients);
}

}  // namespace gradus::train
