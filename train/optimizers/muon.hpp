// Muon (Jordan et al., "Muon: An optimizer for hidden layers in neural networks", 2024): it updates a matrix
// by its mean gradient with all singular values set to about 1, so that no direction learns more slowly. All
// other parameters get AdamW's steps. Ownership and thread-safety as in optimizer.hpp.
#pragma once

#include <string_view>

#include "gradus/train/optimizers/adamw.hpp"

namespace gradus::train {

/// The nearest matrix with orthonormal rows or columns to each of `x` (..., m, n), up to singular values of
/// 0.7 to 1.1 for those of at least 0.003 of the Frobenius norm: four steps x = a x + (b x x^T + c (x x^T)^2)
/// x, from x over its norm, with coefficients for each step (Amsel et al., "The Polar Express", arXiv
/// 2505.16932). Products have the precision of Autocast; nothing is recorded. Throws Error unless x is
/// floating and has two dimensions or more.
Tensor orthogonalized(const Tensor& x);

/// The steps of orthogonalized().
inline constexpr int kMuonSteps = 4;

/// The number of matrices that Muon updates in a decoder's parameter of that name and shape; 0 if AdamW does.
int64_t muon_matrices(std::string_view name, const Shape& shape);

/// Options of Muon.
struct MuonOptions {
  std::optional<double> lr = {};  ///< learning rate of step() without one
  double momentum = 0.95;         ///< share of the sum of gradients that a step keeps
  AdamWOptions adamw = {};        ///< for the other parameters; its weight_decay also applies to the matrices
};

/// Temporary memory of the updates of float32 parameters, in bytes, on all threads.
double muon_working_memory(const NamedParameters& parameters, DType products);

/// u = momentum * u + g; p = p - lr * (weight_decay * p + 0.2 sqrt(max(m, n)) * orthogonalized(g + momentum *
/// u)). The factor makes updates as large as AdamW's, so that AdamW's rate and decay apply (Liu et al., "Muon
/// is scalable for LLM training", arXiv 2502.16982, section 2.2). This applies to parameters of two
/// dimensions with the role matrix, and to each part of fused ones.
class Muon : public Optimizer {
 public:
  /// Throws Error unless momentum is in [0, 1), and for AdamW's options and groups as AdamW does.
  explicit Muon(NamedParameters parameters, const MuonOptions& options = {},
                const ParameterGroups& groups = {});
  const char* name() const override { return "muon"; }
  double update_cost(const NamedParameter& parameter) const override;
  /// The names of a parameter's buffers.
  static std::vector<std::string> buffer_names(const NamedParameter& parameter);

 private:
  void update(Slot& slot, const Tensor& grad, int64_t step, double lr, double grad_scale) override;
  static bool is_matrix(const NamedParameter& p) {
    return p.role.kind == nn::Role::matrix && p.second.dim() == 2;
  }
  bool is_of_small_ops(const Slot& slot) const override { return is_matrix(slot.of); }
  MuonOptions options_;
};

}  // namespace gradus::train
