// Ops of one value at a time, and swiglu, the gated one.
#include <cmath>
#include <numbers>
#include <optional>

#include "gradus/autograd/kernels/elementwise/elementwise.hpp"
#include "gradus/autograd/ops/arguments.hpp"

namespace gradus {
namespace {

using kernels::Binary;
using kernels::Unary;

Tensor values(OpName op, Unary kernel, const Tensor& x) {
  check_floating(op.name, x);
  return raw::unary(kernel, x);
}

// rule(gy, x) or rule(gy, y) gives gx. If there is a kernel, the rule is used only where the gradient may be
// differentiated again; gradcheck compares the two.
using Rule = Tensor (*)(const Tensor& gy, const Tensor& x_or_y);
using GradKernel = std::optional<Binary>;

Tensor by_input(OpName op, Unary kernel, const Tensor& x, Rule rule, GradKernel grad_kernel = {}) {
  const auto pull = [x = Saved(x), rule, grad_kernel](const Tensor& gy) {
    return grad_kernel && !grad_enabled() ? raw::binary(*grad_kernel, gy, x) : rule(gy, x);
  };
  return record(op, values(op, kernel, x), {{x, pull}});
}

Tensor by_output(OpName op, Unary kernel, const Tensor& x, Rule rule, GradKernel grad_kernel = {}) {
  const auto pull = [rule, grad_kernel](const Tensor& gy, const Tensor& y) {
    return grad_kernel && !grad_enabled() ? raw::binary(*grad_kernel, gy, y) : rule(gy, y);
  };
  return record(op, values(op, kernel, x), {{x, pull}});
}

Tensor relu_rule(const Tensor& gy, const Tensor& x) { return masked_fill(gy, le(x, 0.0), 0.0); }

// Phi(x). Far to the left it is gelu(x) / x: 1 + erf has no digits there.
Tensor normal_cdf(const Tensor& x) {
  const Tensor near = ge(x, -1.0);
  const Tensor far = where(near, full({}, -1.0, x.dtype()), x);
  return where(near, 0.5 * (1.0 + erf(x * (1.0 / std::numbers::sqrt2))), gelu(far) / far);
}

// silu' = s * (1 + x * (1 - s)), s = sigmoid(x).
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
  return by_input("abs", Unary::abs, x, [](auto& gy, auto& v) { return gy * sign(v); });
}

Tensor exp(const Tensor& x) {
  return by_output("exp", Unary::exp, x, [](auto& gy, auto& y) { return gy * y; });
}
Tensor log(const Tensor& x) {
  return by_input("log", Unary::log, x, [](auto& gy, auto& v) { return gy / v; });
}
Tensor sqrt(const Tensor& x) {
  return by_output("sqrt", Unary::sqrt, x, [](auto& gy, auto& y) { return gy / (2.0 * y); });
}
Tensor rsqrt(const Tensor& x) {
  return by_output("rsqrt", Unary::rsqrt, x, [](auto& gy, auto& y) { return -0.5 * gy * (y * y * y); });
}
Tensor sin(const Tensor& x) {
  return by_input("sin", Unary::sin, x, [](auto& gy, auto& v) { return gy * cos(v); });
}
Tensor cos(const Tensor& x) {
  return by_input("cos", Unary::cos, x, [](auto& gy, auto& v) { return neg(gy * sin(v)); });
}
Tensor erf(const Tensor& x) {
  const Rule rule = [](auto& gy, auto& v) { return gy * (2.0 * std::numbers::inv_sqrtpi * exp(neg(v * v))); };
  return by_input("erf", Unary::erf, x, rule);
}

Tensor tanh(const Tensor& x) {
  const Rule rule = [](auto& gy, auto& y) { return gy * (1.0 - y * y); };
  return by_output("tanh", Unary::tanh, x, rule, Binary::tanh_grad);
}
Tensor sigmoid(const Tensor& x) {
  const Rule rule = [](auto& gy, auto& y) { return gy * (y * (1.0 - y)); };
  return by_output("sigmoid", Unary::sigmoid, x, rule, Binary::sigmoid_grad);
}
Tensor relu(const Tensor& x) { return by_input("relu", Unary::relu, x, relu_rule, Binary::relu_grad); }
Tensor gelu(const Tensor& x, Gelu approximate) {
  autograd::trace_attributes(approximate == Gelu::tanh);
  if (approximate == Gelu::none) return by_input("gelu", Unary::gelu, x, gelu_rule, Binary::gelu_grad);
  return by_input("gelu", Unary::gelu_tanh, x, gelu_tanh_rule, Binary::gelu_tanh_grad);
}
Tensor silu(const Tensor& x) { return by_input("silu", Unary::silu, x, silu_rule, Binary::silu_grad); }
Tensor mish(const Tensor& x) { return by_input("mish", Unary::mish, x, mish_rule, Binary::mish_grad); }

Tensor softplus(const Tensor& x, double beta, double threshold) {
  check_floating("softplus", x);
  const Tensor z = x.detach() * beta, e = exp(neg(abs(z))), w = 1.0 + e;
  const Tensor tiny = eq(w, 1.0);
  const Tensor log1p = where(tiny, e, log(w) * (e / masked_fill(w - 1.0, tiny, 1.0)));  // undoes w's rounding
  Tensor y = where(gt(z, threshold), x.detach(), (relu(z) + log1p) / beta);
  const auto pull = [x = Saved(x), beta, threshold](const Tensor& gy) {
    const Tensor steep = *x * beta;
    return where(gt(steep, threshold), gy, gy * sigmoid(steep));
  };
  autograd::trace_attributes(beta, threshold);
  return record("softplus", std::move(y), {{x, pull}});
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
  autograd::trace_attributes(min, max);
  return record("clamp", std::move(out), {{x, pull}});
}

Tensor sign(const Tensor& x) { return values(OpName::custom("sign"), Unary::sign, x); }

// The gradients in public ops.
std::vector<Tensor> swiglu_rule(const Tensor& gy, const Tensor& gate, const Tensor& up) {
  return {silu_rule(gy * up, gate), gy * silu(gate)};
}

void check_swiglu(const Tensor& gate, const Tensor& up) {
  check_floating("swiglu", gate);
  check_same_dtype("swiglu", gate, up);
  if (gate.shape() != up.shape())
    fail("swiglu", "gate and up must be of one shape, got ", gate.shape(), " and ", up.shape(), ".");
}

Tensor swiglu(const Tensor& gate, const Tensor& up) {
  check_swiglu(gate, up);
  Tensor out = empty(gate.shape(), gate.dtype());
  const Tensor gates = raw::contiguous(gate), ups = raw::contiguous(up);
  dispatch_float("swiglu", gate.dtype(), [&]<class T>() {
    kernels::swiglu(out.numel(), out.mutable_data<T>(), gates.data<T>(), ups.data<T>());
  });
  auto pull = [gate = Saved(gate), up = Saved(up)](const Tensor& gy, Needs) {
    if (grad_enabled()) return swiglu_rule(gy, gate, up);
    const Tensor g = raw::contiguous(gy), gs = raw::contiguous(gate), us = raw::contiguous(up);
    Tensor ggate = empty(gy.shape(), gy.dtype()), gup = empty(gy.shape(), gy.dtype());
    dispatch_float("swiglu", gy.dtype(), [&]<class T>() {
      kernels::swiglu_grad(g.numel(), ggate.mutable_data<T>(), gup.mutable_data<T>(), g.data<T>(),
                           gs.data<T>(), us.data<T>());
    });
    return std::vector<Tensor>{ggate, gup};
  };
  return record("swiglu", std::move(out), {gate, up}, std::move(pull));
}

}  // namespace gradus
