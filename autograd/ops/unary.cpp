#include <cmath>
#include <numbers>

#include "gradus/autograd/ops/arguments.hpp"

namespace gradus {
namespace {

using kernels::Binary;
using kernels::Unary;

Tensor values(OpName op, Unary kernel, const Tensor& x) {
  check_floating(op.name, x);
  return raw::unary(kernel, x);
}

// A rule with a kernel, which is used unless the gradient will be differentiated: rule(gy, x), or rule(gy, y)
// for fused_by_output. The checker compares the two.
using Rule = Tensor (*)(const Tensor& gy, const Tensor& of);

Tensor fused(OpName op, Unary kernel, Binary grad_kernel, const Tensor& x, Rule rule) {
  const auto pull = [x = Saved(x), grad_kernel, rule](const Tensor& gy) {
    return grad_enabled() ? rule(gy, x) : raw::binary(grad_kernel, gy, x);
  };
  return record(op, values(op, kernel, x), {{x, pull}});
}

Tensor fused_by_output(OpName op, Unary kernel, Binary grad_kernel, const Tensor& x, Rule rule) {
  const auto pull = [grad_kernel, rule](const Tensor& gy, const Tensor& y) {
    return grad_enabled() ? rule(gy, y) : raw::binary(grad_kernel, gy, y);
  };
  return record(op, values(op, kernel, x), {{x, pull}});
}

Tensor relu_rule(const Tensor& gy, const Tensor& x) { return masked_fill(gy, le(x, 0.0), 0.0); }

// Phi(x). Far to the left it is gelu(x) / x: 1 + erf would have no digits left there.
Tensor normal_cdf(const Tensor& x) {
  const Tensor near = ge(x, -1.0);
  const Tensor far = where(near, full({}, -1.0, x.dtype()), x);
  return where(near, 0.5 * (1.0 + erf(x * (1.0 / std::numbers::sqrt2))), gelu(far) / far);
}

Tensor silu_rule(const Tensor& gy, const Tensor& x) {
  const Tensor s = sigmoid(x);
  return gy * (s * (1.0 + x * (1.0 - s)));
}

Tensor mish_rule(const Tensor& gy, const Tensor& x) {
  const Tensor gate = tanh(softplus(x));
  return gy * (gate + x * sigmoid(x) * (1.0 - gate * gate));
}

}  // namespace

// The derivative of x * Phi(x) is Phi(x) + x * phi(x).
Tensor gelu_rule(const Tensor& gy, const Tensor& x) {
  const Tensor cdf = normal_cdf(x);
  const Tensor pdf = exp(-0.5 * (x * x)) * (0.5 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
  return gy * (cdf + x * pdf);
}

// The derivative of 0.5 * x * (1 + tanh(u)) = x * sigmoid(z), z = 2u = 2 sqrt(2 / pi) * (x + 0.044715 x^3).
Tensor gelu_tanh_rule(const Tensor& gy, const Tensor& x) {
  const double k = 2.0 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  const Tensor square = x * x;
  const Tensor z = k * (x + 0.044715 * (square * x));
  const Tensor dz = k * (1.0 + 3 * 0.044715 * square);
  return gy * (sigmoid(z) * (1.0 + x * sigmoid(neg(z)) * dz));
}

Tensor neg(const Tensor& x) {
  check_defined("neg", x);
  if (x.dtype() == DType::int64) return zeros({}, DType::int64) - x;
  return record("neg", values("neg", Unary::neg, x), {{x, [](const Tensor& gy) { return neg(gy); }}});
}

Tensor abs(const Tensor& x) {
  check_defined("abs", x);
  if (x.dtype() == DType::int64) return maximum(x, neg(x));
  return record("abs", values("abs", Unary::abs, x),
                {{x, [x = Saved(x)](const Tensor& gy) { return gy * sign(x); }}});
}

Tensor exp(const Tensor& x) {
  return record("exp", values("exp", Unary::exp, x),
                {{x, [](const Tensor& gy, const Tensor& y) { return gy * y; }}});
}

Tensor log(const Tensor& x) {
  return record("log", values("log", Unary::log, x),
                {{x, [x = Saved(x)](const Tensor& gy) { return gy / x; }}});
}

Tensor sqrt(const Tensor& x) {
  return record("sqrt", values("sqrt", Unary::sqrt, x),
                {{x, [](const Tensor& gy, const Tensor& y) { return gy / (2.0 * y); }}});
}

Tensor rsqrt(const Tensor& x) {
  return record("rsqrt", values("rsqrt", Unary::rsqrt, x),
                {{x, [](const Tensor& gy, const Tensor& y) { return -0.5 * gy * (y * y * y); }}});
}

Tensor tanh(const Tensor& x) {
  const auto rule = [](const Tensor& gy, const Tensor& y) { return gy * (1.0 - y * y); };
  return fused_by_output("tanh", Unary::tanh, Binary::tanh_grad, x, rule);
}

Tensor sigmoid(const Tensor& x) {
  const auto rule = [](const Tensor& gy, const Tensor& y) { return gy * (y * (1.0 - y)); };
  return fused_by_output("sigmoid", Unary::sigmoid, Binary::sigmoid_grad, x, rule);
}

Tensor relu(const Tensor& x) { return fused("relu", Unary::relu, Binary::relu_grad, x, relu_rule); }

Tensor gelu(const Tensor& x, Gelu approximate) {
  if (approximate == Gelu::none) return fused("gelu", Unary::gelu, Binary::gelu_grad, x, gelu_rule);
  return fused("gelu", Unary::gelu_tanh, Binary::gelu_tanh_grad, x, gelu_tanh_rule);
}

Tensor silu(const Tensor& x) { return fused("silu", Unary::silu, Binary::silu_grad, x, silu_rule); }

Tensor softplus(const Tensor& x, double beta, double threshold) {
  check_floating("softplus", x);
  const Tensor z = x.detach() * beta, e = exp(neg(abs(z))), w = 1.0 + e;
  const Tensor log1p =
      where(eq(w, 1.0), e, log(w) * (e / (w - 1.0)));  // the factor corrects the rounding of w
  const Tensor y = where(gt(z, threshold), x.detach(), (relu(z) + log1p) / beta);
  const auto pull = [x = Saved(x), beta, threshold](const Tensor& gy) {
    const Tensor steep = *x * beta;
    return where(gt(steep, threshold), gy, gy * sigmoid(steep));
  };
  return record("softplus", y, {{x, pull}});
}

Tensor mish(const Tensor& x) { return fused("mish", Unary::mish, Binary::mish_grad, x, mish_rule); }

Tensor sin(const Tensor& x) {
  return record("sin", values("sin", Unary::sin, x),
                {{x, [x = Saved(x)](const Tensor& gy) { return gy * cos(x); }}});
}

Tensor cos(const Tensor& x) {
  return record("cos", values("cos", Unary::cos, x),
                {{x, [x = Saved(x)](const Tensor& gy) { return neg(gy * sin(x)); }}});
}

Tensor erf(const Tensor& x) {
  const auto pull = [x = Saved(x)](const Tensor& gy) {
    return gy * (2.0 * std::numbers::inv_sqrtpi * exp(neg(*x * x)));
  };
  return record("erf", values("erf", Unary::erf, x), {{x, pull}});
}

Tensor clamp(const Tensor& x, double min, double max) {
  check_floating("clamp", x);
  if (std::isnan(min) || std::isnan(max))  // which makes all NaN
    return clamp(x, full({}, min, x.dtype()), full({}, max, x.dtype()));
  Tensor out = empty(x.shape(), x.dtype());
  const auto loop = raw::loop_over<2>(x.shape(), {&out, &x});
  dispatch_float("clamp", x.dtype(), [&]<class T>() {
    kernels::clamp(loop, out.mutable_data<T>(), x.data<T>(), static_cast<T>(min), static_cast<T>(max));
  });
  const auto pull = [x = Saved(x), min, max](const Tensor& gy) {
    const Tensor zero = number(gy, 0.0);
    return where(ge(x, min), where(le(x, max), gy, zero), zero);
  };
  return record("clamp", out, {{x, pull}});
}

Tensor sign(const Tensor& x) {
  check_floating("sign", x);
  return raw::unary(Unary::sign, x);
}

}  // namespace gradus
