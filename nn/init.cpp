#include "gradus/nn/init.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "gradus/autograd/ops/ops.hpp"

namespace gradus::nn {
namespace {

thread_local bool no_init = false;

struct Fans {
  double in, out;
};

Fans fans(std::string_view op, const Tensor& x) {
  if (x.dim() < 2) fail(op, "needs a weight (out, in, ...), got shape ", x.shape(), ".");
  double kernel = 1;
  for (int d = 2; d < x.dim(); ++d) kernel *= static_cast<double>(x.shape()[d]);
  return {static_cast<double>(x.size(1)) * kernel, static_cast<double>(x.size(0)) * kernel};
}

// PyTorch's order of operations gives the same rounding.
double kaiming_deviation(const Fans& of, double a, Fan mode, Nonlinearity nonlinearity) {
  return calculate_gain(nonlinearity, a) / std::sqrt(mode == Fan::in ? of.in : of.out);
}

double xavier_deviation(const Fans& of, double gain) { return gain * std::sqrt(2.0 / (of.in + of.out)); }

double normal_cdf(double x) { return (1 + std::erf(x / std::sqrt(2.0))) / 2; }

// The inverse of erf: an approximation (Winitzki, 2008), and Newton's method.
double erfinv(double y) {
  if (std::abs(y) >= 1) return std::copysign(std::numeric_limits<double>::infinity(), y);
  constexpr double kA = 0.147;
  const double log = std::log1p(-y * y), b = 2 / (std::numbers::pi * kA) + log / 2;
  double x = std::copysign(std::sqrt(std::sqrt(b * b - log / kA) - b), y);
  for (int step = 0; step < 3; ++step)
    x -= (std::erf(x) - y) * std::sqrt(std::numbers::pi) / 2 * std::exp(x * x);
  return x;
}

}  // namespace

NoInit::NoInit() : mode_(no_init, true) {}

Tensor new_parameter(const Shape& shape) { return no_init ? empty({}).expand(shape) : empty(shape); }

void uniform_(Tensor& x, double low, double high, Generator& generator) {
  if (no_init) return;
  x.detach().copy_(uniform(x.shape(), low, high, generator, x.dtype()));
}

void normal_(Tensor& x, double mean, double std, Generator& generator) {
  if (no_init) return;
  x.detach().copy_(normal(x.shape(), mean, std, generator, x.dtype()));
}

void constant_(Tensor& x, double value) {
  if (!no_init) x.detach().fill_(value);
}

void eye_(Tensor& x) {
  if (x.dim() != 2) fail("eye_", "needs a matrix, got shape ", x.shape(), ".");
  if (no_init) return;
  const auto places = [&](int64_t d) { return arange(0, static_cast<double>(x.size(d))); };
  x.detach().copy_(eq(places(0).unsqueeze(1), places(1)));
}

double calculate_gain(Nonlinearity nonlinearity, double negative_slope) {
  if (nonlinearity == Nonlinearity::tanh) return 5.0 / 3.0;
  if (nonlinearity == Nonlinearity::relu) return std::sqrt(2.0);
  if (nonlinearity == Nonlinearity::leaky_relu)
    return std::sqrt(2.0 / (1.0 + negative_slope * negative_slope));
  return nonlinearity == Nonlinearity::selu ? 3.0 / 4.0 : 1.0;
}

void kaiming_uniform_(Tensor& x, Generator& generator, double a, Fan mode, Nonlinearity nonlinearity) {
  const double bound = std::sqrt(3.0) * kaiming_deviation(fans("kaiming_uniform_", x), a, mode, nonlinearity);
  uniform_(x, -bound, bound, generator);
}

void kaiming_normal_(Tensor& x, Generator& generator, double a, Fan mode, Nonlinearity nonlinearity) {
  normal_(x, 0.0, kaiming_deviation(fans("kaiming_normal_", x), a, mode, nonlinearity), generator);
}

void xavier_uniform_(Tensor& x, Generator& generator, double gain) {
  const double bound = std::sqrt(3.0) * xavier_deviation(fans("xavier_uniform_", x), gain);
  uniform_(x, -bound, bound, generator);
}

void xavier_normal_(Tensor& x, Generator& generator, double gain) {
  normal_(x, 0.0, xavier_deviation(fans("xavier_normal_", x), gain), generator);
}

void trunc_normal_(Tensor& x, Generator& generator, double mean, double std, double low, double high) {
  if (!(std > 0 && low < high))
    fail("trunc_normal_", "needs std > 0 and low < high, got ", std, ", ", low, " and ", high, ".");
  if (no_init) return;
  Tensor drawn = uniform(x.shape(), 2 * normal_cdf((low - mean) / std) - 1,
                         2 * normal_cdf((high - mean) / std) - 1, generator, x.dtype());
  dispatch_float("trunc_normal_", x.dtype(), [&]<class T>() {
    T* const values = drawn.mutable_data<T>();
    std::transform(values, values + drawn.numel(), values, [](T y) { return static_cast<T>(erfinv(y)); });
  });
  x.detach().copy_(clamp(drawn * (std * std::sqrt(2.0)) + mean, low, high));
}

void orthogonal_(Tensor& x, Generator& generator, double gain) {
  if (x.dim() < 2) fail("orthogonal_", "needs at least two dimensions, got shape ", x.shape(), ".");
  if (no_init || x.numel() == 0) return;
  const Tensor drawn = normal({x.size(0), x.numel() / x.size(0)}, 0.0, 1.0, generator, x.dtype());
  const bool is_wide = drawn.size(0) < drawn.size(1);
  // Gram and Schmidt's method, each row twice, which makes them orthogonal to the last digit.
  Tensor rows = (is_wide ? drawn : drawn.mT()).to(DType::float64).contiguous();
  for (int64_t i = 0; i < rows.size(0); ++i) {
    const Tensor before = rows.slice(0, 0, i);
    Tensor at = rows.slice(0, i, i + 1), row = at;
    for (int pass = 0; pass < 2; ++pass) row = row - matmul(matmul(row, before.mT()), before);
    at.copy_(row / norm(row));
  }
  x.detach().copy_(((is_wide ? rows : rows.mT()) * gain).reshape(x.shape()));
}

}  // namespace gradus::nn
