// Lion (Chen et al., "Symbolic discovery of optimization algorithms", arXiv 2302.06675, algorithm 2): steps
// of equal size for all elements, by the sign of a mean gradient, with half of AdamW's memory. Ownership and
// thread-safety as in optimizer.hpp.
#pragma once

#include "gradus/train/optimizers/optimizer.hpp"

namespace gradus::train {

/// The paper's constants. Its rates are a third to a tenth of AdamW's, its weight decay 3 to 10 times that.
struct LionOptions {
  std::optional<double> lr = {};  ///< learning rate of step() without one
  double beta1 = 0.9;             ///< weight of the momentum in the direction of a step
  double beta2 = 0.99;            ///< share of the momentum that a step keeps
  double weight_decay = 0.0;      ///< of all parameters except vectors
};

/// p = p - lr * (sign(beta1 * m + (1 - beta1) * g) + weight_decay * p);  m = beta2 * m + (1 - beta2) * g.
class Lion : public Optimizer {
 public:
  /// Throws Error unless the betas are in [0, 1) and weight_decay >= 0, and as Optimizer does for groups.
  explicit Lion(NamedParameters parameters, const LionOptions& options = {},
                const ParameterGroups& groups = {});
  const char* name() const override { return "lion"; }
  /// The names of a parameter's buffers.
  static std::vector<std::string> buffer_names(const NamedParameter&) { return {"momentum"}; }

 private:
  void update(Slot& slot, const Tensor& grad, int64_t step, double lr, double grad_scale) override;
  LionOptions options_;
};

}  // namespace gradus::train
