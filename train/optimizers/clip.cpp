#include "gradus/train/optimizers/clip.hpp"

#include <algorithm>
#include <cmath>

#include "gradus/autograd/kernels/elementwise/optimizers.hpp"
#include "gradus/autograd/ops/ops.hpp"

namespace gradus::train {

double norm(const std::vector<Tensor>& tensors) {
  double squares = 0;
  for (const Tensor& tensor : tensors) {
    const Tensor packed = tensor.contiguous();
    squares += dispatch_float("norm", packed.dtype(), [&]<class T>() {
      return kernels::sum_of_squares(packed.numel(), packed.data<T>());
    });
  }
  if (std::isnormal(squares)) return std::sqrt(squares);
  double root = 0;  // where squares of float64 values overflow or vanish
  for (const Tensor& tensor : tensors) root = std::hypot(root, gradus::norm(tensor.detach()).item());
  return root;
}

double grad_norm(const std::vector<Tensor>& parameters) {
  std::vector<Tensor> gradients;
  for (const Tensor& parameter : parameters)
    if (const Tensor gradient = parameter.grad(); gradient.defined()) gradients.push_back(gradient);
  return norm(gradients);
}

double clip_scale(double norm, double max_norm) {
  constexpr double kEpsilon = 1e-6;  // PyTorch's constant keeps the result below max_norm despite rounding.
  if (!std::isfinite(norm)) fail("clip", "the norm of the gradients must be finite, got ", norm, ".");
  if (!(max_norm >= 0)) fail("clip", "the largest norm must be at least 0, got ", max_norm, ".");
  return max_norm == 0 ? 1.0 : std::min(1.0, max_norm / (norm + kEpsilon));
}

}  // namespace gradus::train
