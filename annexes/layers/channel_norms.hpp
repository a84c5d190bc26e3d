// Norms of channels: BatchNorm1d, BatchNorm2d and GroupNorm. Images are (N, C, H, W) or (N, C, L). Ownership
// and thread-safety as in module.hpp, but a BatchNorm in training mode writes its buffers when called.
#pragma once

#include <optional>

#include "gradus/annexes/layers/ops/windows.hpp"
#include "gradus/nn/module.hpp"

namespace gradus::nn {

/// Options of a BatchNorm1d or BatchNorm2d, with PyTorch's defaults.
struct BatchNormOptions {
  double eps = 1e-5;                     ///< added to the variance
  std::optional<double> momentum = 0.1;  ///< share of the new batch in the running values; none: equal shares
  bool affine = true;                    ///< whether it has a weight and a bias
  bool track_running_stats = true;       ///< whether it has running values
};

/// batch_norm() with running values (Ioffe and Szegedy, arXiv 1502.03167).
///
/// In training mode a call normalizes with the batch's mean and variance and updates the buffers, which a
/// copy of the module shares; not with an empty batch, nor when a checkpoint() calls it again. In evaluation
/// mode it normalizes with the buffers, or with the batch if there are none.
template <int dims>
class BatchNorm : public Module {
 public:
  /// Weight starts at 1, bias at 0. Throws Error unless num_features >= 1.
  explicit BatchNorm(int64_t num_features, const BatchNormOptions& options = {});

  Tensor operator()(const Tensor& x) const;  ///< (N, C, ...) -> (N, C, ...)
  void visit(Visitor& v) override;

  Tensor weight;               ///< (C) or undefined
  Tensor bias;                 ///< (C) or undefined
  Tensor running_mean;         ///< (C), a buffer, or undefined
  Tensor running_var;          ///< (C), a buffer, or undefined
  Tensor num_batches_tracked;  ///< () int64, a buffer, or undefined

 private:
  BatchNormOptions options_;
};

using BatchNorm1d = BatchNorm<1>;  ///< of (N, C, L) or (N, C)
using BatchNorm2d = BatchNorm<2>;  ///< of (N, C, H, W)

/// Options of a GroupNorm, with PyTorch's defaults.
struct GroupNormOptions {
  double eps = 1e-5;   ///< added to the variance
  bool affine = true;  ///< whether it has a weight and a bias
};

/// group_norm() (Wu and He, arXiv 1803.08494).
class GroupNorm : public Module {
 public:
  /// Weight starts at 1, bias at 0. Throws Error unless num_groups divides num_channels >= 1.
  GroupNorm(int64_t num_groups, int64_t num_channels, const GroupNormOptions& options = {});

  Tensor operator()(const Tensor& x) const;  ///< (N, C, ...) -> (N, C, ...)
  void visit(Visitor& v) override { v("weight", weight, Role::vector)("bias", bias, Role::vector); }

  Tensor weight;  ///< (C) or undefined
  Tensor bias;    ///< (C) or undefined

 private:
  int64_t num_groups_;
  double eps_;
};

}  // namespace gradus::nn
