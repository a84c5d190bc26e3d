#include "gradus/train/optimizers/rmsprop.hpp"

#include <cmath>

#include "gradus/autograd/kernels/threads/parallel.hpp"

namespace gradus::train {

std::vector<std::string> RMSprop::buffer_names(const NamedParameter&, const RMSpropOptions& options) {
  std::vector<std::string> names{"square_avg"};
  if (options.momentum > 0) names.emplace_back("momentum_buffer");
  if (options.centered) names.emplace_back("grad_avg");
  return names;
}

RMSprop::RMSprop(NamedParameters parameters, const RMSpropOptions& options, const ParameterGroups& groups)
    : Optimizer(
          std::move(parameters), options.lr,
          [&](const NamedParameter& p) { return buffer_names(p, options); }, groups),
      options_(options) {
  const auto [lr, alpha, eps, decay, momentum, centered] = options;
  if (!(alpha >= 0 && alpha < 1 && momentum >= 0 && momentum < 1))
    fail("rmsprop", "alpha and momentum must be in [0, 1), got ", alpha, " and ", momentum, ".");
  if (!(eps > 0)) fail("rmsprop", "eps must be above 0, got ", eps, ".");
  if (!(decay >= 0)) fail("rmsprop", "weight_decay must be at least 0, got ", decay, ".");
}

void RMSprop::update(Slot& slot, const Tensor& grad, int64_t /*step*/, double lr, double grad_scale) {
  dispatch_float("rmsprop", grad.dtype(), [&]<class T>() {
    constexpr int64_t kGrain = 1 << 14;
    T* p = slot.parameter().mutable_data<T>();
    T* s = slot.buffers[0].mutable_data<T>();
    T* u = options_.momentum > 0 ? slot.buffers[1].mutable_data<T>() : nullptr;
    T* m = options_.centered ? slot.buffers.back().mutable_data<T>() : nullptr;
    const T* gradient = grad.data<T>();
    const T rate = static_cast<T>(lr), scale = static_cast<T>(grad_scale), eps = static_cast<T>(options_.eps),
            alpha = static_cast<T>(options_.alpha), rest = static_cast<T>(1 - options_.alpha),
            momentum = static_cast<T>(options_.momentum),
            decay = static_cast<T>(slot.decay(options_.weight_decay));
    parallel_for(grad.numel(), kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T g = gradient[i] * scale + decay * p[i];
        s[i] = alpha * s[i] + rest * g * g;
        if (m) m[i] = alpha * m[i] + rest * g;
        const T step = g / (std::sqrt(m ? s[i] - m[i] * m[i] : s[i]) + eps);
        p[i] -= rate * (u ? u[i] = momentum * u[i] + step : step);
      }
    });
  });
}

}  // namespace gradus::train
