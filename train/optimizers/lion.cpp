#include "gradus/train/optimizers/lion.hpp"

#include "gradus/autograd/kernels/threads/parallel.hpp"

namespace gradus::train {

Lion::Lion(NamedParameters parameters, const LionOptions& options, const ParameterGroups& groups)
    : Optimizer(std::move(parameters), options.lr, buffer_names, groups), options_(options) {
  for (const double beta : {options.beta1, options.beta2})
    if (!(beta >= 0 && beta < 1))
      fail("lion", "betas must be in [0, 1), got ", options.beta1, " and ", options.beta2, ".");
  if (!(options.weight_decay >= 0))
    fail("lion", "weight_decay must be at least 0, got ", options.weight_decay, ".");
}

void Lion::update(Slot& slot, const Tensor& grad, int64_t /*step*/, double lr, double grad_scale) {
  dispatch_float("lion", grad.dtype(), [&]<class T>() {
    constexpr int64_t kGrain = 1 << 14;
    T* p = slot.parameter().mutable_data<T>();
    T* m = slot.buffers[0].mutable_data<T>();
    const T* gradient = grad.data<T>();
    const T rate = static_cast<T>(lr), scale = static_cast<T>(grad_scale),
            beta1 = static_cast<T>(options_.beta1), beta2 = static_cast<T>(options_.beta2),
            decay = static_cast<T>(slot.decay(options_.weight_decay));
    parallel_for(grad.numel(), kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T g = gradient[i] * scale, direction = beta1 * m[i] + (1 - beta1) * g;
        const T sign = static_cast<T>((direction > 0) - (direction < 0));
        p[i] -= rate * (sign + decay * p[i]);
        m[i] = beta2 * m[i] + (1 - beta2) * g;
      }
    });
  });
}

}  // namespace gradus::train
