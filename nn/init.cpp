#include "gradus/nn/init.hpp"

#include <cmath>

namespace gradus::nn {
namespace {

struct Fans {
  double in, out;
};

Fans fans(std::string_view op, const Tensor& x) {
  if (x.dim() != 2) fail(op, "needs a matrix (out, in), got shape ", x.shape(), ".");
  return {static_cast<double>(x.size(1)), static_cast<double>(x.size(0))};
}

// Uniform on +-sqrt(3) std. In PyTorch's order of operations, whose rounding shows.
void uniform_of_deviation(Tensor& x, double std, Generator& generator) {
  const double bound = std::sqrt(3.0) * std;
  uniform_(x, -bound, bound, generator);
}

}  // namespace

void uniform_(Tensor& x, double low, double high, Generator& generator) {
  x.copy_(uniform(x.shape(), low, high, generator, x.dtype()));
}

void normal_(Tensor& x, double mean, double std, Generator& generator) {
  x.copy_(normal(x.shape(), mean, std, generator, x.dtype()));
}

void zeros_(Tensor& x) { x.fill_(0.0); }

void ones_(Tensor& x) { x.fill_(1.0); }

void kaiming_uniform_(Tensor& x, Generator& generator, double a) {
  const double gain = std::sqrt(2.0 / (1.0 + a * a));
  uniform_of_deviation(x, gain / std::sqrt(fans("kaiming_uniform_", x).in), generator);
}

void xavier_uniform_(Tensor& x, Generator& generator) {
  const auto [in, out] = fans("xavier_uniform_", x);
  uniform_of_deviation(x, std::sqrt(2.0 / (in + out)), generator);
}

}  // namespace gradus::nn
