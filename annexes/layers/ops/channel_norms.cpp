// batch_norm and group_norm, composed of layer_norm, whose rows are the values of a channel or of a group.
#include <algorithm>

#include "gradus/annexes/layers/ops/windows.hpp"
#include "gradus/autograd/engine/checkpoint.hpp"
#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/ops/arguments.hpp"

namespace gradus {
namespace {

// Throws Error unless x is (N, C, ...) and the defined ones of `vectors` are (C), of x's dtype.
void check_channels(std::string_view op, const Tensor& x, std::initializer_list<Tensor> vectors) {
  check_floating(op, x);
  if (x.dim() < 2) fail(op, "needs (N, C, ...), got ", x.shape(), ".");
  for (const Tensor& v : vectors) {
    if (!v.defined()) continue;
    check_same_dtype(op, x, v);
    if (v.shape() != Shape{x.size(1)})
      fail(op, "weight, bias and running values must be (", x.size(1), ",), got ", v.shape(), ".");
  }
}

// The values for channels, as they broadcast with x (N, C, ...).
Tensor of_channels(const Tensor& values, const Tensor& x) {
  Shape shape = values.shape();
  for (int d = 2; d < x.dim(); ++d) shape.push_back(1);
  return values.reshape(shape);
}

Tensor scaled(Tensor y, const Tensor& weight, const Tensor& bias) {
  if (weight.defined()) y = y * of_channels(weight, y);
  return bias.defined() ? y + of_channels(bias, y) : y;
}

void update(Tensor running, const Tensor& batch, double momentum) {
  if (running.defined()) running.copy_(running.detach() * (1.0 - momentum) + batch * momentum);
}

}  // namespace

Tensor batch_norm(const Tensor& x, Tensor running_mean, Tensor running_var, const Tensor& weight,
                  const Tensor& bias, bool training, double momentum, double eps) {
  check_channels("batch_norm", x, {running_mean, running_var, weight, bias});
  if (!training) {
    if (!running_mean.defined() || !running_var.defined())
      fail("batch_norm", "needs running_mean and running_var unless training, got none.");
    const Tensor rstd = rsqrt(of_channels(running_var, x) + eps);
    return scaled((x - of_channels(running_mean, x)) * rstd, weight, bias);
  }
  const Tensor by_channel = x.transpose(0, 1);
  const int64_t channels = x.size(1), count = x.numel() / std::max<int64_t>(channels, 1);
  if (count == 1)
    fail("batch_norm", "needs more than one value for each channel to train, got ", x.shape(), ".");
  const Tensor rows = by_channel.reshape({channels, count});
  if (!recomputing() && x.numel() > 0) {
    const NoGrad plain;
    update(running_mean, mean(rows, {1}), momentum);
    update(running_var, var(rows, {1}), momentum);
  }
  const Tensor y = layer_norm(rows, {count}, {}, {}, eps).reshape(by_channel.shape()).transpose(0, 1);
  return scaled(y, weight, bias).contiguous();
}

Tensor group_norm(const Tensor& x, int64_t num_groups, const Tensor& weight, const Tensor& bias, double eps) {
  check_channels("group_norm", x, {weight, bias});
  const int64_t channels = x.size(1);
  if (num_groups < 1 || channels % num_groups != 0)
    fail("group_norm", "num_groups must divide the channels, got ", num_groups, " for ", x.shape(), ".");
  int64_t size = channels / num_groups;  // of a group
  for (int d = 2; d < x.dim(); ++d) size *= x.size(d);
  if (x.size(0) * size == 1)
    fail("group_norm", "needs more than one value for each group, got ", x.shape(), ".");
  const Tensor rows = x.reshape({x.size(0) * num_groups, size});
  return scaled(layer_norm(rows, {size}, {}, {}, eps).reshape(x.shape()), weight, bias);
}

}  // namespace gradus
