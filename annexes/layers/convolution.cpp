#include "gradus/annexes/layers/convolution.hpp"

#include <algorithm>
#include <cmath>

#include "gradus/annexes/layers/ops/window_arguments.hpp"
#include "gradus/autograd/engine/checkpoint.hpp"
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
  if (options_.padding_mode != PaddingMode::zeros && x.defined() && x.dim() > dims &&
      (same || options_.padding.mode.empty())) {
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

template <int dims>
BatchNorm<dims>::BatchNorm(int64_t num_features, const BatchNormOptions& options) : options_(options) {
  if (num_features < 1) fail("batch_norm", "num_features must be >= 1, got ", num_features, ".");
  if (options.affine) weight = new_parameter({num_features}, ones_);
  if (options.affine) bias = new_parameter({num_features}, zeros_);
  if (!options.track_running_stats) return;
  running_mean = zeros({num_features});
  running_var = ones({num_features});
  num_batches_tracked = zeros({}, DType::int64);
}

template <int dims>
void BatchNorm<dims>::visit(Visitor& v) {
  v("weight", weight, Role::vector)("bias", bias, Role::vector);
  v.buffer("running_mean", running_mean).buffer("running_var", running_var);
  v.buffer("num_batches_tracked", num_batches_tracked);
}

template <int dims>
Tensor BatchNorm<dims>::operator()(const Tensor& x) const {
  if (!x.defined() || (x.dim() != dims + 2 && (dims > 1 || x.dim() != 2)))
    fail("batch_norm", "needs ", dims == 1 ? "(N, C) or (N, C, L)" : "(N, C, H, W)", ", got ",
         x.defined() ? x.shape() : Shape(), ".");
  const bool counts = training() && num_batches_tracked.defined() && !recomputing() && x.numel() > 0;
  const double batches = counts ? num_batches_tracked.item() + 1 : 1;
  const Tensor y =
      batch_norm(x, running_mean, running_var, weight, bias, training() || !running_mean.defined(),
                 options_.momentum.value_or(1 / batches), options_.eps);
  if (Tensor count = num_batches_tracked; counts) count.fill_(batches);
  return output(y);
}

template class BatchNorm<1>;
template class BatchNorm<2>;

GroupNorm::GroupNorm(int64_t num_groups, int64_t num_channels, const GroupNormOptions& options)
    : num_groups_(num_groups), eps_(options.eps) {
  if (num_groups < 1 || num_channels < 1 || num_channels % num_groups != 0)
    fail("group_norm", "num_groups must divide num_channels, both >= 1, got ", num_groups, " and ",
         num_channels, ".");
  if (options.affine) weight = new_parameter({num_channels}, ones_);
  if (options.affine) bias = new_parameter({num_channels}, zeros_);
}

Tensor GroupNorm::operator()(const Tensor& x) const {
  return output(group_norm(x, num_groups_, weight, bias, eps_));
}

}  // namespace gradus::nn
