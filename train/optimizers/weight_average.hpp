// WeightAverage: an exponential mean of a model's parameters over the steps (Polyak averaging). The last
// weights of a run jump about a good place; their mean is nearer to it.
//
// Holds handles on the parameters; make it after Module::to(), which replaces them. Not thread-safe.
#pragma once

#include <vector>

#include "gradus/nn/module.hpp"
#include "gradus/train/optimizers/optimizer.hpp"

namespace gradus::train {

class WeightAverage {
 public:
  /// Means that begin with the parameters. Throws Error unless decay is in [0, 1).
  WeightAverage(NamedParameters parameters, double decay);

  /// mean = d mean + (1 - d) parameter, with d = min(decay, t / (t + 10)) in update t, counted from 1: so
  /// that the first weights are soon forgotten.
  void update();

  /// Exchanges parameters and means; a second call undoes it.
  void swap();

  /// Each mean as "average.<parameter>", and "average_steps"; tensors share storage with the means.
  nn::StateDict state_dict() const;
  /// Takes what state_dict() of an average gave out of a state.
  static nn::StateDict take_from(nn::StateDict& state);
  /// Throws Error for names or shapes that are not its own.
  void check(const nn::StateDict& state) const;
  /// Copies what state_dict() gave. Throws as check(), having changed nothing.
  void load_state_dict(const nn::StateDict& state);

 private:
  NamedParameters parameters_;
  std::vector<Tensor> means_;
  double decay_;
  int64_t steps_ = 0;
};

/// While it lives, the model has the means in place of its parameters; nothing if there are none.
class AveragedWeights {
 public:
  /// The means are borrowed, or null.
  explicit AveragedWeights(WeightAverage* average) : average_(average) {
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
