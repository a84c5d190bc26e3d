// Operations on images: windows (convolution, pooling) and norms of channels, under the rules of ops.hpp.
//
// Images are (N, C, H, W) for the 2-d forms and (N, C, L) for the 1-d forms; N may be missing.
#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gradus/autograd/ops/ops.hpp"

namespace gradus {

namespace autograd {
/// A number for each dimension of an image, as {1, 2}, or one number for all of them.
struct PerDim {
  PerDim() = default;  ///< none
  /// One for all.
  template <std::integral Int>
  PerDim(Int all) : values{static_cast<int64_t>(all)} {}         // NOLINT: a number is the natural spelling
  PerDim(std::initializer_list<int64_t> each) : values(each) {}  ///< height, width
  explicit PerDim(const std::vector<int64_t>& each) : values(each) {}  ///< the same
  Shape values;                                                        ///< as given
};
/// Zeros at both ends of each dimension; or "valid", none; or "same", as many as keep the size of the image.
struct Padding : PerDim {
  using PerDim::PerDim;
  Padding(const PerDim& numbers) : PerDim(numbers) {}        ///< of a pool or an unfold
  Padding(std::string name) : mode(std::move(name)) {}       ///< "valid" or "same"
  Padding(const char* name) : Padding(std::string(name)) {}  ///< the same
  std::string mode;                                          ///< empty if numbers are given
};
}  // namespace autograd

/// The options of unfold() and fold(), with PyTorch's defaults.
struct UnfoldOptions {
  autograd::PerDim dilation = 1;  ///< distance between the elements of a block
  autograd::PerDim padding = 0;   ///< zeros at both ends
  autograd::PerDim stride = 1;    ///< distance between blocks
};
/// Elements of all L blocks of kernel_size: images (N, C, H, W) -> (N, C * kernel elements, L) (im2col).
Tensor unfold(const Tensor& x, const autograd::PerDim& kernel_size, const UnfoldOptions& options = {});
/// The adjoint of unfold: sums blocks (N, C * kernel elements, L) in images (N, C, *output_size).
Tensor fold(const Tensor& x, const autograd::PerDim& output_size, const autograd::PerDim& kernel_size,
            const UnfoldOptions& options = {});
/// The options of conv1d() and conv2d(), with PyTorch's defaults.
struct ConvOptions {
  autograd::PerDim stride = 1;    ///< distance between windows
  autograd::Padding padding = 0;  ///< zeros at both ends; "same" needs a stride of 1
  autograd::PerDim dilation = 1;  ///< distance between the elements of a window
  int64_t groups = 1;             ///< parts of the channels, each with its own part of the weight
};
/// Cross-correlation: x (N, C, H, W), weight (O, C / groups, kernel height, kernel width), bias (O) or
/// undefined -> (N, O, output height, output width), the latter floor((size + 2 padding - dilation (kernel -
/// 1) - 1) / stride) + 1 (LeCun et al., 1989).
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
              const ConvOptions& options = {});
/// The same for x (N, C, L) and weight (O, C / groups, kernel).
Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
              const ConvOptions& options = {});
/// The options of max_pool1d() and max_pool2d(), with PyTorch's defaults.
struct MaxPoolOptions {
  autograd::PerDim stride = {};   ///< distance between windows; none: kernel_size
  autograd::PerDim padding = 0;   ///< of -inf at both ends; at most half of kernel_size
  autograd::PerDim dilation = 1;  ///< distance between the elements of a window
  bool ceil_mode = false;         ///< whether a last window may reach beyond the end
};
/// The largest of each window, or a NaN, and its int64 index in the channel. The first one gets the gradient.
ValuesAndIndices max_pool2d_with_indices(const Tensor& x, const autograd::PerDim& kernel_size,
                                         const MaxPoolOptions& options = {});
/// The same for (N, C, L).
ValuesAndIndices max_pool1d_with_indices(const Tensor& x, const autograd::PerDim& kernel_size,
                                         const MaxPoolOptions& options = {});
/// The values of max_pool2d_with_indices().
Tensor max_pool2d(const Tensor& x, const autograd::PerDim& kernel_size, const MaxPoolOptions& options = {});
/// The values of max_pool1d_with_indices().
Tensor max_pool1d(const Tensor& x, const autograd::PerDim& kernel_size, const MaxPoolOptions& options = {});
/// The options of avg_pool1d() and avg_pool2d(), with PyTorch's defaults.
struct AvgPoolOptions {
  autograd::PerDim stride = {};                  ///< distance between windows; none: kernel_size
  autograd::PerDim padding = 0;                  ///< zeros at both ends; at most half of kernel_size
  bool ceil_mode = false;                        ///< whether a last window may reach beyond the end
  bool count_include_pad = true;                 ///< whether the mean counts padding
  std::optional<int64_t> divisor_override = {};  ///< of the sums, instead of the number of elements; 2-d only
};
/// The mean of each window.
Tensor avg_pool2d(const Tensor& x, const autograd::PerDim& kernel_size, const AvgPoolOptions& options = {});
/// The same for (N, C, L).
Tensor avg_pool1d(const Tensor& x, const autograd::PerDim& kernel_size, const AvgPoolOptions& options = {});
/// (x - mean) / sqrt(var + eps) * weight + bias for each channel of x (N, C, ...), with the mean and the
/// biased variance of the batch if `training`, else with running_mean and running_var; all (C), weight and
/// bias may be undefined (Ioffe and Szegedy, arXiv 1502.03167). Training writes (1 - momentum) * running +
/// momentum * batch, where the batch's variance is unbiased, into the running ones that are defined, but not
/// when a checkpoint() computes its values again. Throws Error if training has one value per channel.
Tensor batch_norm(const Tensor& x, Tensor running_mean, Tensor running_var, const Tensor& weight = {},
                  const Tensor& bias = {}, bool training = false, double momentum = 0.1, double eps = 1e-5);
/// (x - mean) / sqrt(var + eps) * weight + bias for each sample and each of num_groups groups of neighbouring
/// channels of x (N, C, ...); weight, bias (C) or undefined (arXiv 1803.08494). Throws unless they divide C.
Tensor group_norm(const Tensor& x, int64_t num_groups, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5);

}  // namespace gradus
