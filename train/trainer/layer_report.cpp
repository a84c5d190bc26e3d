#include <algorithm>
#include <limits>

#include "gradus/autograd/engine/backward.hpp"
#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/train/optimizers/clip.hpp"
#include "gradus/train/trainer/trainer.hpp"

namespace gradus::train {

void Trainer::measure_update(const std::vector<Tensor>& before, LayerReport& layers) const {
  const NoGrad no_grad;
  layers.step = step_;
  layers.examples = recipe_.loop.batch * recipe_.loop.accum;
  const nn::NamedParameters named = model_.named_parameters();
  for (size_t i = 0; i < named.size(); ++i) {
    const Tensor& parameter = named[i].second;
    if (!parameter.requires_grad()) continue;
    const Tensor after = parameter.detach(), gradient = parameter.grad();
    layers.parameters.push_back(
        {named[i].first, norm({after}),
         gradient.defined() ? norm({gradient}) : std::numeric_limits<double>::quiet_NaN(),
         norm({after - before[i]})});
  }
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
