// WeightAverage: an exponential mean of a model's parameters over the steps (Polyak averaging). The last
// weights of a run fluctuate around a minimum; their mean is closer to it.
//
// Holds handles on the parameters; make it after Module::to(), which replaces them. Not thread-safe.
#pragma once

#include <vector>

#include "gradus/nn/module.hpp"
#include "gradus/train/optimizers/optimizer.hpp"

namespace gradus::train {

class WeightAverage {
 public:
  /// The means start at the parameters. Throws Error unless decay is in [0, 1), and as check_parameters().
  WeightAverage(NamedParameters parameters, double decay);

  /// mean = d mean + (1 - d) parameter, with d = min(decay, t / (t + 10)) in update t, counted from 1, which
  /// reduces the weight of the first values. Throws Error if Module::to() has replaced a parameter.
  void update();

  /// Exchanges parameters and means; a second call undoes it.
  void swap();

  /// Each mean as "average.<parameter>", and "average_steps"; tensors share storage with the means.
  nn::StateDict state_dict() const;
  /// Moves the entries of an average's state_dict() out of a state.
  static nn::StateDict take_from(nn::StateDict& state);
  /// Throws Error if names or shapes differ from its own.
  void check_state(const nn::StateDict& state) const;
  /// Copies the result of state_dict(). Throws as check_state(), having changed nothing.
  void load_state_dict(const nn::StateDict& state);

 private:
  NamedParameters parameters_;
  std::vector<Tensor> means_;
  double decay_;
  int64_t steps_ = 0;
};

/// During its lifetime, the model's parameters have the values of the means. A null average changes nothing.
class AveragedWeights {
 public:
  /// Borrows the average, which may be null.
  [[nodiscard]] explicit AveragedWeights(WeightAverage* average) : average_(average) {
    if (average_) average_->swap();
  }
  ~AveragedWeights() {
    if (average_) average_->swap();
  }
  AveragedWeights(const AveragedWeights&) = delete;
  AveragedWeights& operator=(const AveragedWeights&) = delete;

 private:
  WeightAverage* average_;
};

}  // namespace gradus::train
