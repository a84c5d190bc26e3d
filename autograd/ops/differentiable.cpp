// What the engine asks of the operations.
#include "gradus/autograd/engine/differentiable.hpp"

#include "gradus/autograd/ops/ops.hpp"

namespace gradus::differentiable {

Tensor add(const Tensor& a, const Tensor& b) { return gradus::add(a, b); }
Tensor sum(const Tensor& x, const std::vector<int64_t>& dims) {
  return gradus::sum(x, dims, /*keepdim=*/true);
}

}  // namespace gradus::differentiable
