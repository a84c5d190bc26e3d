#include "gradus/nn/init.hpp"

#include <cmath>

#include "gradus/autograd/ops.hpp"
#include "gradus/autograd/record.hpp"

namespace gradus::nn {
namespace {

struct Fans {
  double in, out;
};

Fans fans(std::string_view op, const Tensor& x) {
  if (x.dim() != 2) fail(op, "needs a matrix (out, in), got shape ", x.shape(), ".");
  return {static_cast<double>(x.size(1)), static_cast<double>(x.size(0))};
}

}  // namespace

void uniform_(Tensor& x, double low, double high, Generator& generator) {
  const NoGrad no_grad;
  x.copy_(rand(x.shape(), generator, x.dtype()) * (high - low) + low);
}

void normal_(Tensor& x, double mean, double std, Generator& generator) {
  const NoGrad no_grad;
  x.copy_(randn(x.shape(), generator, x.dtype()) * std + mean);
}

void zeros_(Tensor& x) { x.fill_(0.0); }

void ones_(Tensor& x) { x.fill_(1.0); }

void kaiming_uniform_(Tensor& x, Generator& generator, double a) {
  const double bound = std::sqrt(6.0 / ((1.0 + a * a) * fans("kaiming_uniform_", x).in));
  uniform_(x, -bound, bound, generator);
}

void xavier_uniform_(Tensor& x, Generator& generator) {
  const auto [in, out] = fans("xavier_uniform_", x);
  const double bound = std::sqrt(6.0 / (in + out));
  uniform_(x, -bound, bound, generator);
}

}  // namespace gradus::nn
