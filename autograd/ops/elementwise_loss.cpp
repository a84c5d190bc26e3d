// Losses of single elements.
#include "gradus/autograd/ops/arguments.hpp"

namespace gradus {
namespace {

void check_target(std::string_view op, const Tensor& x, const Tensor& target) {
  check_same_dtype(op, x, target);
  check_floating(op, x);
  if (broadcast_shapes(op, x.shape(), target.shape()) != x.shape())
    fail(op, "target must broadcast to the shape of x, ", x.shape(), ", got ", target.shape(),
         ". Hint: reshape() or expand() one of them.");
}

Tensor difference(std::string_view op, const Tensor& x, const Tensor& target) {
  check_target(op, x, target);
  return x - target;
}

}  // namespace

Tensor reduced(std::string_view op, const Tensor& losses, Reduction reduction, int64_t count) {
  if (reduction == Reduction::batchmean)
    fail(op, "the reduction must be none, mean or sum, got batchmean. Hint: kl_div() takes that.");
  if (reduction == Reduction::none) return losses;
  return reduction == Reduction::sum ? sum(losses) : mean_of(sum(losses), count);
}

Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  const Tensor d = difference("mse_loss", x, target);
  return reduced("mse_loss", d * d, reduction, d.numel());
}

Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  const Tensor d = difference("l1_loss", x, target);
  return reduced("l1_loss", abs(d), reduction, d.numel());
}

Tensor huber_loss(const Tensor& x, const Tensor& target, Reduction reduction, double delta) {
  const Tensor d = difference("huber_loss", x, target);
  if (!(delta > 0)) fail("huber_loss", "delta must be above 0, got ", delta, ".");
  const Tensor is_far = ge(abs(d.detach()), delta), near = masked_fill(d, is_far, 0.0);
  const Tensor losses = where(is_far, delta * (abs(d) - 0.5 * delta), 0.5 * near * near);
  return reduced("huber_loss", losses, reduction, d.numel());
}

Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, Reduction reduction, double beta) {
  for (const Tensor& t : {x, target}) check_defined("smooth_l1_loss", t);
  if (!(beta >= 0)) fail("smooth_l1_loss", "beta must be at least 0, got ", beta, ".");
  return beta == 0 ? l1_loss(x, target, reduction) : huber_loss(x, target, reduction, beta) / beta;
}

Tensor kl_div(const Tensor& x, const Tensor& target, Reduction reduction, bool log_target) {
  check_target("kl_div", x, target);
  const Tensor none = eq(target, 0.0);
  const Tensor losses = log_target
                            ? exp(target) * (target - x)
                            : target * (masked_fill(log(masked_fill(target, none, 1.0)), none, 0.0) - x);
  if (reduction != Reduction::batchmean) return reduced("kl_div", losses, reduction, losses.numel());
  return mean_of(sum(losses), x.dim() == 0 ? 1 : x.size(0));
}

Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& target, const Tensor& weight,
                                        Reduction reduction, const Tensor& pos_weight) {
  constexpr const char* op = "binary_cross_entropy_with_logits";
  check_same_dtype(op, x, target);
  check_floating(op, x);
  if (target.shape() != x.shape()) fail(op, "target must be ", x.shape(), " as x, got ", target.shape(), ".");
  // -log(sigmoid(x)) is softplus(-x), -log(1 - sigmoid(x)) is softplus(x), and softplus(x) = max(x, 0) +
  // softplus(-|x|): no term is subtracted that another one added.
  const Tensor yes = pos_weight.defined() ? pos_weight * target : target, no = 1.0 - target;
  const Tensor below = lt(x, 0.0);
  const Tensor rest = softplus(where(below, x, neg(x)), 1.0, std::numeric_limits<double>::infinity());
  Tensor losses = where(below, neg(yes), no) * x + (pos_weight.defined() ? (yes + no) * rest : rest);
  if (weight.defined()) losses = losses * weight;
  return reduced(op, losses, reduction, losses.numel());
}

}  // namespace gradus
