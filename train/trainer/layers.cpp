#include "gradus/train/trainer/layers.hpp"

#include <limits>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/train/optimizers/clip.hpp"

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

}  // namespace gradus::train
