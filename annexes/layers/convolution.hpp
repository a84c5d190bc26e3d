// Convolution and pooling: Conv1d, Conv2d, MaxPool1d, MaxPool2d, AvgPool1d and AvgPool2d.
//
// Images are (N, C, H, W) for the 2-d layers and (N, C, L) for the 1-d layers; N may be missing. Parameters
// start with PyTorch's values, drawn in the order of members. Ownership and thread-safety as in module.hpp.
#pragma once

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
  /// Starts uniform on +-1 / sqrt(C / groups * kernel elements). Throws Error unless groups divides channels.
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

}  // namespace gradus::nn
