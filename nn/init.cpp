#include "gradus/nn/init.hpp"

#include <cmath>

#include "gradus/autograd/ops/ops.hpp"

namespace gradus::nn {
namespace {

thread_local bool no_init = false;

struct Fans {
  double in, out;
};

Fans fans(std::string_view op, const Tensor& x) {
  if (x.dim() != 2) fail(op, "needs a matrix (out, in), got shape ", x.shape(), ".");
  return {static_cast<double>(x.size(1)), static_cast<double>(x.size(0))};
}

// Uniform on +-sqrt(3) std. PyTorch's order of operations gives the same rounding.
void uniform_of_deviation(Tensor& x, double std, Generator& generator) {
  const double bound = std::sqrt(3.0) * std;
  uniform_(x, -bound, bound, generator);
}

}  // namespace

NoInit::NoInit() : outer_(no_init) { no_init = true; }
NoInit::~NoInit() { no_init = outer_; }

Tensor new_parameter(const Shape& shape) { return no_init ? empty({}).expand(shape) : empty(shape); }

void uniform_(Tensor& x, double low, double high, Generator& generator) {
  if (no_init) return;
  x.copy_(uniform(x.shape(), low, high, generator, x.dtype()));
}

void normal_(Tensor& x, double mean, double std, Generator& generator) {
  if (no_init) return;
  x.copy_(normal(x.shape(), mean, std, generator, x.dtype()));
}

void zeros_(Tensor& x) {
  if (!no_init) x.fill_(0.0);
}

void ones_(Tensor& x) {
  if (!no_init) x.fill_(1.0);
}

void kaiming_uniform_(Tensor& x, Generator& generator, double a) {
  const double gain = std::sqrt(2.0 / (1.0 + a * a));
  uniform_of_deviation(x, gain / std::sqrt(fans("kaiming_uniform_", x).in), generator);
}

void xavier_uniform_(Tensor& x, Generator& generator) {
  const auto [in, out] = fans("xavier_uniform_", x);
  uniform_of_deviation(x, std::sqrt(2.0 / (in + out)), generator);
}

}  // namespace gradus::nn
