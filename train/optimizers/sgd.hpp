// SGD: stochastic gradient descent with momentum, PyTorch's form. Ownership and thread-safety as in
// optimizer.hpp.
#pragma once

#include "gradus/train/optimizers/optimizer.hpp"

namespace gradus::train {

/// Constants of SGD.
struct SGDOptions {
  std::optional<double> lr = {};  ///< learning rate of step() without one
  double momentum = 0.0;          ///< share of the velocity that a step keeps
  double weight_decay = 0.0;      ///< of all parameters except vectors, added to the gradient
  bool nesterov = false;          ///< look ahead by one velocity (Sutskever et al., 2013)
};

/// g = gradient + weight_decay * p,  u = momentum * u + g,  p = p - lr * u;  with nesterov p - lr * (g +
/// momentum * u).
class SGD : public Optimizer {
 public:
  /// Throws Error unless momentum is in [0, 1) (above 0 for nesterov) and weight_decay >= 0, and as
  /// Optimizer does for groups.
  explicit SGD(NamedParameters parameters, const SGDOptions& options = {},
               const ParameterGroups& groups = {});
  const char* name() const override { return "sgd"; }

 private:
  void update(Slot& slot, const Tensor& grad, int64_t step, double lr, double grad_scale) override;
  SGDOptions options_;
};

}  // namespace gradus::train
