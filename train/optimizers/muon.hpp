// Muon (Jordan et al., "Muon: An optimizer for hidden layers in neural networks", 2024): the mean gradient of
// a matrix, with all its singular values made about 1, so that no direction learns more slowly than others.
// All other parameters get AdamW's steps. Ownership and thread-safety as in optimizer.hpp.
#pragma once

#include <string_view>

#include "gradus/train/optimizers/adamw.hpp"

namespace gradus::train {

/// The nearest matrix with orthonormal rows or columns to each of `x` (..., m, n), up to singular values of
/// 0.7 to 1.2: five steps of a Newton-Schulz iteration, x = a x + (b x x^T + c (x x^T)^2) x with (a, b, c) =
/// (3.4445, -4.7750, 2.0315), from x over its Frobenius norm. Products are made in the precision of Autocast;
/// nothing is recorded. Throws Error unless x is floating and has two dimensions or more.
Tensor orthogonalized(const Tensor& x);

/// The same of a parameter of the decoder, by its name and shape: 0 for AdamW's, else its matrices.
int64_t muon_matrices(std::string_view name, const Shape& shape);

/// Rates are step()'s.
struct MuonOptions {
  double momentum = 0.95;   ///< how much of the sum of gradients is kept a step
  AdamWOptions adamw = {};  ///< of the other parameters; its weight_decay is that of the matrices too
};

/// Bytes that the updates of float32 parameters work with beside the buffers, on all threads.
double muon_working_memory(const NamedParameters& parameters, DType products);

/// u = momentum * u + g; p = p - lr * (weight_decay * p + 0.2 sqrt(max(m, n)) * orthogonalized(g + momentum *
/// u)). With that factor updates are as large as AdamW's, whose rate and decay suit them (Liu et al., "Muon
/// is scalable for LLM training", arXiv 2502.16982, section 2.2). That is for parameters of two dimensions
/// whose role is matrix, and for each part of those that are fused.
class Muon : public Optimizer {
 public:
  /// Throws Error unless momentum is in [0, 1), and for AdamW's options and groups as AdamW does.
  explicit Muon(NamedParameters parameters, const MuonOptions& options = {},
                const ParameterGroups& groups = {});
  const char* name() const override { return "muon"; }
  /// The names of what is kept for a parameter.
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
