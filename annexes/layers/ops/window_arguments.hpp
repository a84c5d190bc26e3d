// Shared by convolution and pooling: images with and without a batch, and the windows on them. Internal.
#pragma once

#include <array>

#include "gradus/annexes/layers/kernels/windows.hpp"
#include "gradus/annexes/layers/ops/windows.hpp"
#include "gradus/autograd/ops/arguments.hpp"

namespace gradus {

using autograd::PerDim;
using kernels::Windows;

/// x as (N, C, H, W). The height of images with one dimension is 1.
struct Images {
  Images(std::string_view op, const Tensor& x, int dims_) : dims(dims_) {
    check_floating(op, x);
    batched = x.dim() == dims + 2;
    if (!batched && x.dim() != dims + 1)
      fail(op, "needs ", dims == 2 ? "(N, C, H, W) or (C, H, W)" : "(N, C, L) or (C, L)", ", got ", x.shape(),
           ".");
    tensor = batched ? x : x.unsqueeze(0);
    if (dims == 1) tensor = tensor.unsqueeze(2);
  }

  /// y (N, C, H, W) without the dimensions that x does not have.
  Tensor restored(const Tensor& y) const {
    const Tensor image = dims == 1 ? y.squeeze(2) : y;
    return batched ? image : image.squeeze(0);
  }

  Tensor tensor;
  int dims;
  bool batched = false;
};

/// The numbers for height and width, at least `least`; `unused` is that of a height which is not there.
inline std::array<int64_t, 2> per_dim(std::string_view op, const char* what, const PerDim& given, int dims,
                                      int64_t least, int64_t unused) {
  constexpr int64_t kMost = (int64_t{1} << 31) - 1;  // products of two of them do not overflow
  const Shape& v = given.values;
  bool fits = v.size() == 1 || v.size() == dims;
  for (const int64_t n : v) fits = fits && n >= least && n <= kMost;
  if (!fits)
    fail(op, what, " must be one number", dims == 2 ? " or two" : "", " of at least ", least, ", got ", v,
         ".");
  return {dims == 1 ? unused : v[0], v.back()};
}

/// How windows lie on images.
struct WindowOptions {
  PerDim kernel_size, stride, padding, dilation = 1;
  bool ceil_mode = false;
};

/// The windows on images (..., H, W). Throws Error for bad options, and if no window fits.
inline Windows windows_on(std::string_view op, const Shape& images, int dims, const WindowOptions& options) {
  const auto kernel = per_dim(op, "kernel_size", options.kernel_size, dims, 1, 1);
  const auto stride = per_dim(op, "stride", options.stride, dims, 1, 1);
  const auto padding = per_dim(op, "padding", options.padding, dims, 0, 0);
  const auto dilation = per_dim(op, "dilation", options.dilation, dims, 1, 1);
  kernels::WindowAxis axes[2];
  for (size_t d = 0; d < 2; ++d) {
    const int64_t size = images[images.size() - 2 + static_cast<int>(d)];
    const int64_t span = size + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1;
    const int64_t reached = span + (options.ceil_mode ? stride[d] - 1 : 0);
    int64_t out = reached < 0 ? 0 : reached / stride[d] + 1;
    // A window that would begin in the padding after the end is left out.
    if (options.ceil_mode && (out - 1) * stride[d] >= size + padding[d]) --out;
    if (out < 1)
      fail(op, "the kernel must fit into the padded image, got kernel_size ", options.kernel_size.values,
           ", dilation ", options.dilation.values, " and padding ", options.padding.values, " for ", images,
           ".");
    axes[d] = {size, kernel[d], stride[d], padding[d], dilation[d], out};
  }
  check_sizes(op, {kernel[0], kernel[1], axes[0].out, axes[1].out});
  return {axes[0], axes[1]};
}

/// An axis for a trace: size, kernel, stride, padding, dilation, windows.
inline Shape shape_of(const kernels::WindowAxis& a) {
  return {a.size, a.kernel, a.stride, a.padding, a.dilation, a.out};
}

/// Images (N, C, H, W) -> the columns of their windows (N, C * kernel, L); or the adjoint. Differentiable.
Tensor unfolded(const Tensor& x, const Windows& w, bool backwards);

}  // namespace gradus
