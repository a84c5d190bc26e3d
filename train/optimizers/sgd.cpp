#include "gradus/train/optimizers/sgd.hpp"

#include "gradus/autograd/kernels/threads/parallel.hpp"

namespace gradus::train {

SGD::SGD(NamedParameters parameters, const SGDOptions& options, const ParameterGroups& groups)
    : Optimizer(
          std::move(parameters), options.lr,
          [](const NamedParameter&) { return std::vector<std::string>{"velocity"}; }, groups),
      options_(options) {
  if (!(options.momentum >= 0 && options.momentum < 1))
    fail("sgd", "momentum must be in [0, 1), got ", options.momentum, ".");
  if (options.nesterov && options.momentum == 0) fail("sgd", "momentum must be above 0 for nesterov, got 0.");
  if (!(options.weight_decay >= 0))
    fail("sgd", "weight_decay must be at least 0, got ", options.weight_decay, ".");
}

void SGD::update(Slot& slot, const Tensor& grad, int64_t /*step*/, double lr, double grad_scale) {
  dispatch_float("sgd", grad.dtype(), [&]<class T>() {
    constexpr int64_t kGrain = 1 << 14;
    T* p = slot.parameter().mutable_data<T>();
    T* u = slot.buffers[0].mutable_data<T>();
    const T* gradient = grad.data<T>();
    const T rate = static_cast<T>(lr), scale = static_cast<T>(grad_scale),
            momentum = static_cast<T>(options_.momentum);
    const T decay = static_cast<T>(slot.decay(options_.weight_decay));
    parallel_for(grad.numel(), kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T g = gradient[i] * scale + decay * p[i];
        u[i] = momentum * u[i] + g;
        p[i] -= rate * (options_.nesterov ? g + momentum * u[i] : u[i]);
      }
    });
  });
}

}  // namespace gradus::train
