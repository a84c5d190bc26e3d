#include "gradus/annexes/layers/convolution.hpp"

#include <algorithm>
#include <cmath>

#include "gradus/annexes/layers/ops/window_arguments.hpp"
#include "gradus/nn/init.hpp"

namespace gradus::nn {
namespace {

// x with `before` and `after` more elements along dim.
Tensor padded(const Tensor& x, int64_t dim, int64_t before, int64_t after, PaddingMode mode) {
  const int64_t size = x.size(dim), last = size - 1, most = mode == PaddingMode::reflect ? last : size;
  if (size < 1 || (mode != PaddingMode::replicate && std::max(before, after) > most))
    fail("conv", "padding must be at most ", most, " for reflect or circular padding of ", x.shape(),
         ", got ", std::max(before, after), ".");
  Tensor index = empty({size + before + after}, DType::int64);
  auto* to = index.mutable_data<int64_t>();
  for (int64_t i = -before; i < size + after; ++i)
    *to++ = mode == PaddingMode::reflect    ? last - std::abs(last - std::abs(i))
            : mode == PaddingMode::circular ? (i + size) % size
                                            : std::clamp<int64_t>(i, 0, last);
  return index_select(x, dim, index);
}

}  // namespace

template <int dims>
Convolution<dims>::Convolution(int64_t in_channels, int64_t out_channels, const autograd::PerDim& kernel_size,
                               Generator& generator, const ConvLayerOptions& options)
    : options_(options) {
  const Shape& kernel = kernel_size.values;
  const int64_t groups = options.groups;
  bool fits = kernel.size() == 1 || kernel.size() == dims;
  for (const int64_t n : kernel) fits = fits && n >= 1;
  if (!fits || std::min({in_channels, out_channels, groups}) < 1 || in_channels % groups != 0 ||
      out_channels % groups != 0)
    fail("conv",
         "channels, groups and kernel_size must be >= 1, and groups divide the channels, got channels ",
         in_channels, " and ", out_channels, ", groups ", groups, " and kernel_size ", kernel, ".");
  Shape shape{out_channels, in_channels / groups};
  for (int d = 0; d < dims; ++d) shape.push_back(kernel[kernel.size() == 1 ? 0 : d]);
  const double bound = 1.0 / std::sqrt(static_cast<double>(shape.numel() / out_channels));
  weight = new_parameter(shape, [&](Tensor& x) { kaiming_uniform_(x, generator, std::sqrt(5.0)); });
  if (options.bias)
    bias = new_parameter({out_channels}, [&](Tensor& x) { uniform_(x, -bound, bound, generator); });
}

template <int dims>
Tensor Convolution<dims>::operator()(const Tensor& x) const {
  ConvOptions options{options_.stride, options_.padding, options_.dilation, options_.groups};
  Tensor in = x;
  const bool same = options_.padding.mode == "same";
  const bool has_steps = std::ranges::any_of(options_.stride.values, [](int64_t n) { return n != 1; });
  if (options_.padding_mode != PaddingMode::zeros && x.defined() && x.dim() > dims &&
      (same || options_.padding.mode.empty()) && !(same && has_steps)) {  // which conv refuses
    const auto dilation = per_dim("conv", "dilation", options_.dilation, dims, 1, 1);
    const auto padding =
        per_dim("conv", "padding", same ? autograd::Padding(0) : options_.padding, dims, 0, 0);
    for (int d = 0; d < dims; ++d) {
      const auto axis = static_cast<size_t>(d + 2 - dims);
      const int64_t zeros = same ? dilation[axis] * (weight.size(d + 2) - 1) : 2 * padding[axis];
      in = padded(in, d - dims, zeros / 2, zeros - zeros / 2, options_.padding_mode);
    }
    options.padding = 0;
  }
  return output(dims == 1 ? conv1d(in, weight, bias, options) : conv2d(in, weight, bias, options));
}

template class Convolution<1>;
template class Convolution<2>;

}  // namespace gradus::nn
