#include "gradus/train/adamw.hpp"

#include "gradus/autograd/kernels/adamw.hpp"

namespace gradus::train {

AdamW::AdamW(NamedParameters parameters, const AdamWOptions& options)
    : Optimizer(std::move(parameters), {"m", "v"}), options_(options) {
  const auto [beta1, beta2, eps, weight_decay] = options;
  for (const double beta : {beta1, beta2})
    if (!(beta >= 0 && beta < 1)) fail("adamw", "betas must be in [0, 1), got ", beta1, " and ", beta2, ".");
  if (!(eps > 0)) fail("adamw", "eps must be above 0, got ", eps, ".");
  if (!(weight_decay >= 0)) fail("adamw", "weight_decay must be at least 0, got ", weight_decay, ".");
}

void AdamW::update(Slot& slot, const Tensor& grad, int64_t step, double lr, double grad_scale) {
  dispatch_float("adamw", grad.dtype(), [&]<class T>() {
    kernels::adamw(grad.numel(), slot.parameter.mutable_data<T>(), slot.buffers[0].mutable_data<T>(),
                   slot.buffers[1].mutable_data<T>(), grad.data<T>(), lr, options_.beta1, options_.beta2,
                   options_.eps, decay_of(slot, options_.weight_decay), step, grad_scale);
  });
}

}  // namespace gradus::train
