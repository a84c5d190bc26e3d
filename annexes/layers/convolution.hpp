// Convolution, pooling and norms of channels: Conv1d, Conv2d, MaxPool1d, MaxPool2d, AvgPool1d, AvgPool2d,
// BatchNorm1d, BatchNorm2d and GroupNorm.
//
// Images are (N, C, H, W) for the 2-d layers and (N, C, L) for the 1-d layers; N may be missing, except in
// norms. Parameters start with PyTorch's initial values, which constructors draw in the order of the members.
// Ownership and thread-safety as in module.hpp, but a BatchNorm in training mode writes its buffers when it
// is called, so it needs exclusive access.
#pragma once

#include <optional>

#include "gradus/annexes/layers/ops/windows.hpp"
#include "gradus/autograd/random/random.hpp"
#include "gradus/nn/module.hpp"

namespace gradus::nn {

/// The values around an image: zeros, its mirror image without the edge, its edge, or its other end.
enum class PaddingMode { zeros, reflect, replicate, circular };

/// Options of a Conv1d or Conv2d, with PyTorch's defaults.
struct ConvLayerOptions {
  autograd::PerDim stride = 1;                    ///< distance between windows
  autograd::Padding padding = 0;                  ///< at both ends; "same" needs a stride of 1
  autograd::PerDim dilation = 1;                  ///< distance between the elements of a window
  int64_t groups = 1;                             ///< parts of the channels, each with its own weight
  bool bias = true;                               ///< whether it adds a bias
  PaddingMode padding_mode = PaddingMode::zeros;  ///< the values of the padding
};

/// conv1d() or conv2d() with a weight and a bias (LeCun et al., 1989).
template <int dims>
class Convolution : public Module {
 public:
  /// Weight and bias start uniform on +-1 / sqrt(C / groups * kernel elements). Throws Error unless groups
  /// divides both numbers of channels, and all sizes are >= 1.
  Convolution(int64_t in_channels, int64_t out_channels, const autograd::PerDim& kernel_size,
              Generator& generator, const ConvLayerOptions& options = {});

  Tensor operator()(const Tensor& x) const;  ///< (N, C, ...) -> (N, O, ...)
  void visit(Visitor& v) override { v("weight", weight)("bias", bias, Role::vector); }

  Tensor weight;  ///< (O, C / groups, *kernel_size)
  Tensor bias;    ///< (O) or undefined

 private:
  ConvLayerOptions options_;
};

using Conv1d = Convolution<1>;  ///< of (N, C, L)
using Conv2d = Convolution<2>;  ///< of (N, C, H, W)

/// A pool as a layer: pool(x, kernel_size, options).
template <class Options, Tensor (*pool)(const Tensor&, const autograd::PerDim&, const Options&)>
class Pool : public Module {
 public:
  /// Bad options are found when it is called.
  explicit Pool(const autograd::PerDim& kernel_size, const Options& options = {})
      : kernel_size_(kernel_size), options_(options) {}

  /// (N, C, ...) -> (N, C, ...)
  Tensor operator()(const Tensor& x) const { return output(pool(x, kernel_size_, options_)); }
  void visit(Visitor&) override {}

 private:
  autograd::PerDim kernel_size_;
  Options options_;
};

using MaxPool1d = Pool<MaxPoolOptions, max_pool1d>;  ///< the largest element of each window of (N, C, L)
using MaxPool2d = Pool<MaxPoolOptions, max_pool2d>;  ///< the same of (N, C, H, W)
using AvgPool1d = Pool<AvgPoolOptions, avg_pool1d>;  ///< the mean of each window of (N, C, L)
using AvgPool2d = Pool<AvgPoolOptions, avg_pool2d>;  ///< the same of (N, C, H, W)

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
