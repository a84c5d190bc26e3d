// Muon (Jordan et al., "Muon: An optimizer for hidden layers in neural networks", 2024): the mean gradient of
// a matrix, with all its singular values made about 1, so that no direction learns more slowly than others.
// What is no hidden matrix gets AdamW's steps. Ownership and thread-safety as in optimizer.hpp.
#pragma once

#include <functional>
#include <string_view>

#include "gradus/train/optimizers/adamw.hpp"

namespace gradus::train {

/// The nearest matrix with orthonormal rows or columns to each of `x` (..., m, n), up to singular values of
/// 0.7 to 1.2: five steps of a Newton-Schulz iteration, x = a x + (b x x^T + c (x x^T)^2) x with (a, b, c) =
/// (3.4445, -4.7750, 2.0315), from x over its Frobenius norm. Products are made in the precision of Autocast;
/// nothing is recorded. Throws Error unless x is floating and has two dimensions or more.
Tensor orthogonalized(const Tensor& x);

/// How many matrices of equal height a parameter of that name and shape is for Muon. One whose name has
/// "wte", "wpe", "embed" or "head", or that is no matrix, is AdamW's: 0; "c_attn", q on k on v, is three.
int64_t muon_matrices(std::string_view name, const Shape& shape);

/// Rates are step()'s.
struct MuonOptions {
  double momentum = 0.95;   ///< how much of the sum of gradients is kept a step
  AdamWOptions adamw = {};  ///< of the other parameters; its weight_decay is that of the matrices too
  /// How many matrices of equal height are stacked in a parameter, 0 if it is AdamW's; by itself as
  /// muon_matrices() says.
  std::function<int64_t(const std::string& name, const Tensor& parameter)> matrices = {};
};

/// u = momentum * u + g; p = p - lr * (weight_decay * p + 0.2 sqrt(max(m, n)) * orthogonalized(g + momentum *
/// u)). With that factor updates are as large as AdamW's, whose rate and decay suit them (Liu et al., "Muon
/// is scalable for LLM training", arXiv 2502.16982, section 2.2).
class Muon : public Optimizer {
 public:
  /// Throws Error unless momentum is in [0, 1), and for AdamW's options as AdamW does.
  explicit Muon(NamedParameters parameters, const MuonOptions& options = {});
  const char* name() const override { return "muon"; }

 private:
  void update(Slot& slot, const Tensor& grad, int64_t step, double lr, double grad_scale) override;
  bool is_of_small_ops(const Slot& slot) const override { return is_matrix(slot); }
  static bool is_matrix(const Slot& slot) { return slot.buffers.size() == 1; }  // adamw has two
  MuonOptions options_;
};

}  // namespace gradus::train
