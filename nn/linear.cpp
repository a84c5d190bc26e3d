#include "gradus/nn/linear.hpp"

#include <cmath>

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/nn/init.hpp"

namespace gradus::nn {

Linear::Linear(int64_t in_features, int64_t out_features, Generator& generator,
               const LinearOptions& options) {
  if (in_features < 1 || out_features < 1)
    fail("linear", "in_features and out_features must be >= 1, got ", in_features, " and ", out_features,
         ".");
  weight = new_parameter({out_features, in_features});
  kaiming_uniform_(weight, generator, std::sqrt(5.0));
  weight.requires_grad_();
  if (!options.bias) return;
  const double bound = 1.0 / std::sqrt(static_cast<double>(in_features));
  bias = new_parameter({out_features});
  uniform_(bias, -bound, bound, generator);
  bias.requires_grad_();
}

Tensor Linear::operator()(const Tensor& x) const { return linear(x, weight, bias); }

}  // namespace gradus::nn
