#include "gradus/train/optimizers/adamw.hpp"

#include "gradus/autograd/kernels/elementwise/optimizers.hpp"

namespace gradus::train {

void check_options(const AdamWOptions& options, const char* who) {
  const auto [lr, beta1, beta2, eps, weight_decay] = options;
  for (const double beta : {beta1, beta2})
    if (!(beta >= 0 && beta < 1)) fail(who, "betas must be in [0, 1), got ", beta1, " and ", beta2, ".");
  if (!(eps > 0)) fail(who, "eps must be above 0, got ", eps, ".");
  if (!(weight_decay >= 0)) fail(who, "weight_decay must be at least 0, got ", weight_decay, ".");
}

void adamw_update(const AdamWOptions& options, Tensor& parameter, Tensor& m, Tensor& v, const Tensor& grad,
                  int64_t step, double lr, double weight_decay, double grad_scale) {
  dispatch_float("adamw", grad.dtype(), [&]<class T>() {
    kernels::adamw(grad.numel(), parameter.mutable_data<T>(), m.mutable_data<T>(), v.mutable_data<T>(),
                   grad.data<T>(), lr, options.beta1, options.beta2, options.eps, weight_decay, step,
                   grad_scale);
  });
}

AdamW::AdamW(NamedParameters parameters, const AdamWOptions& options, const ParameterGroups& groups)
    : Optimizer(std::move(parameters), options.lr, buffer_names, groups), options_(options) {
  check_options(options, "adamw");
}

void AdamW::update(Slot& slot, const Tensor& grad, int64_t step, double lr, double grad_scale) {
  adamw_update(options_, slot.parameter(), slot.buffers[0], slot.buffers[1], grad, step, lr,
               slot.decay(options_.weight_decay), grad_scale);
}

}  // namespace gradus::train
