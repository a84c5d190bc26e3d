#include "gradus/train/optimizers/clip.hpp"

#include <algorithm>
#include <cmath>

#include "gradus/autograd/kernels/elementwise/optimizers.hpp"

namespace gradus::train {

double grad_norm(const std::vector<Tensor>& parameters) {
  double squares = 0;
  for (const Tensor& parameter : parameters) {
    const Tensor grad = parameter.grad();
    if (!grad.defined()) continue;
    const Tensor packed = grad.contiguous();
    squares += dispatch_float("grad_norm", packed.dtype(), [&]<class T>() {
      return kernels::sum_of_squares(packed.numel(), packed.data<T>());
    });
  }
  return std::sqrt(squares);
}

double clip_scale(double norm, double max_norm) {
  constexpr double kEpsilon = 1e-6;  // PyTorch's constant keeps the result below max_norm despite rounding.
  return max_norm == 0 ? 1.0 : std::min(1.0, max_norm / (norm + kEpsilon));
}

}  // namespace gradus::train
