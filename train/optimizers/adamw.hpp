// AdamW (Loshchilov and Hutter, "Decoupled weight decay regularization", arXiv 1711.05101), with PyTorch's
// semantics. Ownership and thread-safety as in optimizer.hpp.
#pragma once

#include "gradus/train/optimizers/optimizer.hpp"

namespace gradus::train {

/// The paper's constants.
struct AdamWOptions {
  std::optional<double> lr = {};  ///< learning rate of step() without one
  double beta1 = 0.9;             ///< share of the mean gradient that a step keeps
  double beta2 = 0.999;           ///< share of the mean square that a step keeps
  double eps = 1e-8;              ///< added to the root of the mean square
  double weight_decay = 0.01;     ///< of all parameters except vectors
};

/// Throws Error, naming `who`, unless the betas are in [0, 1), eps > 0 and weight_decay >= 0.
void check_options(const AdamWOptions& options, const char* who);

/// Updates a parameter with its means m and v, all packed and of one shape and dtype, in `step` (from 1),
/// with the gradient times grad_scale.
void adamw_update(const AdamWOptions& options, Tensor& parameter, Tensor& m, Tensor& v, const Tensor& grad,
                  int64_t step, double lr, double weight_decay, double grad_scale);

/// m, v = means of gradient and square, bias-corrected; p -= lr * (weight_decay * p + m / (sqrt(v) + eps)).
class AdamW : public Optimizer {
 public:
  /// Throws Error unless the betas are in [0, 1), eps > 0 and weight_decay >= 0, and as Optimizer does.
  explicit AdamW(NamedParameters parameters, const AdamWOptions& options = {},
                 const ParameterGroups& groups = {});
  const char* name() const override { return "adamw"; }
  /// The names of a parameter's buffers.
  static std::vector<std::string> buffer_names(const NamedParameter&) { return {"m", "v"}; }

 private:
  void update(Slot& slot, const Tensor& grad, int64_t step, double lr, double grad_scale) override;
  AdamWOptions options_;
};

}  // namespace gradus::train
