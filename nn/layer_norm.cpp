#include "gradus/nn/layer_norm.hpp"

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/nn/init.hpp"

namespace gradus::nn {

LayerNorm::LayerNorm(int64_t features, const LayerNormOptions& options) : eps_(options.eps) {
  if (features < 1) fail("layer_norm", "features must be >= 1, got ", features, ".");
  weight = new_parameter({features});
  ones_(weight);
  weight.requires_grad_();
  if (options.bias) {
    bias = new_parameter({features});
    zeros_(bias);
    bias.requires_grad_();
  }
}

Tensor LayerNorm::operator()(const Tensor& x) const {
  return layer_norm(x, weight.shape(), weight, bias, eps_);
}

}  // namespace gradus::nn
