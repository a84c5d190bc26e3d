// RMSprop (Tieleman and Hinton, 2012, lecture 6.5; centered: Graves, arXiv 1308.0850, section 4.2), with
// PyTorch's semantics. Ownership and thread-safety as in optimizer.hpp.
#pragma once

#include "gradus/train/optimizers/optimizer.hpp"

namespace gradus::train {

/// PyTorch's constants.
struct RMSpropOptions {
  std::optional<double> lr = {};  ///< learning rate of step() without one
  double alpha = 0.99;            ///< share of the mean square that a step keeps
  double eps = 1e-8;              ///< added to the root of the mean square
  double weight_decay = 0.0;      ///< of all parameters except vectors, added to the gradient
  double momentum = 0.0;          ///< share of the velocity that a step keeps
  bool centered = false;          ///< divide by the root of the variance, not of the mean square
};

/// g = gradient + weight_decay * p;  s, m = means of g^2 and g;  u = momentum * u + g / (sqrt(s) + eps), with
/// s - m^2 for s if centered;  p = p - lr * u.
class RMSprop : public Optimizer {
 public:
  /// Throws Error unless alpha and momentum are in [0, 1), eps > 0 and weight_decay >= 0, and as Optimizer
  /// does for groups.
  explicit RMSprop(NamedParameters parameters, const RMSpropOptions& options = {},
                   const ParameterGroups& groups = {});
  const char* name() const override { return "rmsprop"; }
  /// The names of a parameter's buffers.
  static std::vector<std::string> buffer_names(const NamedParameter&, const RMSpropOptions& options = {});

 private:
  void update(Slot& slot, const Tensor& grad, int64_t step, double lr, double grad_scale) override;
  RMSpropOptions options_;
};

}  // namespace gradus::train
