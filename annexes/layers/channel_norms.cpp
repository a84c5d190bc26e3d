#include "gradus/annexes/layers/channel_norms.hpp"

#include "gradus/autograd/engine/checkpoint.hpp"
#include "gradus/files/error.hpp"
#include "gradus/nn/init.hpp"

namespace gradus::nn {

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
