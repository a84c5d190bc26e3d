#include "gradus/nn/rms_norm.hpp"

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/nn/init.hpp"

namespace gradus::nn {

RMSNorm::RMSNorm(int64_t features, const RMSNormOptions& options) : eps_(options.eps) {
  if (features < 1) fail("rms_norm", "features must be >= 1, got ", features, ".");
  weight = new_parameter({features});
  ones_(weight);
  weight.requires_grad_();
}

Tensor RMSNorm::operator()(const Tensor& x) const { return rms_norm(x, weight.shape(), weight, eps_); }

}  // namespace gradus::nn
