#include <limits>

#include "gradus/autograd/ops/arguments.hpp"

namespace gradus {
namespace {

using kernels::Compare;

Tensor compare(std::string_view op, Compare kernel, const Tensor& a, const Tensor& b) {
  if (const auto one = mixed_dtype(op, a, b)) return compare(op, kernel, a.to(*one), b.to(*one));
  Tensor out = empty(broadcast_shapes(op, a.shape(), b.shape()), DType::boolean);
  const auto loop = raw::loop_over<3>(out.shape(), {&out, &a, &b});
  dispatch_any(a.dtype(), [&]<class T>() {
    kernels::compare(kernel, loop, out.mutable_data<bool>(), a.data<T>(), b.data<T>());
  });
  return out;
}

Tensor compare(std::string_view op, Compare kernel, const Tensor& a, double b) {
  check_defined(op, a);
  return compare(op, kernel, promoted(a, b), number(a, b));
}

void check_mask(std::string_view op, const Tensor& mask) {
  check_defined(op, mask);
  if (mask.dtype() != DType::boolean) fail(op, "the mask must be bool, got ", name(mask.dtype()), ".");
}

}  // namespace

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  check_mask("where", condition);
  if (const auto one = mixed_dtype("where", a, b)) return where(condition, a.to(*one), b.to(*one));
  const Shape shape =
      broadcast_shapes("where", condition.shape(), broadcast_shapes("where", a.shape(), b.shape()));
  Tensor out = empty(shape, a.dtype());
  const auto loop = raw::loop_over<4>(shape, {&out, &condition, &a, &b});
  dispatch_any(a.dtype(), [&]<class T>() {
    kernels::where(loop, out.mutable_data<T>(), condition.data<bool>(), a.data<T>(), b.data<T>());
  });
  const auto to_a = [c = Saved(condition)](const Tensor& gy) { return where(c, gy, number(gy, 0.0)); };
  const auto to_b = [c = Saved(condition)](const Tensor& gy) { return where(c, number(gy, 0.0), gy); };
  autograd::trace_attributes(condition);
  return record("where", std::move(out), {{a, to_a}, {b, to_b}});
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, double value) {
  check_floating("masked_fill", x);
  check_mask("masked_fill", mask);
  if (const Shape shape = broadcast_shapes("masked_fill", x.shape(), mask.shape()); shape != x.shape())
    return masked_fill(x.expand(shape), mask, value);
  Tensor out = empty(x.shape(), x.dtype());
  const auto loop = raw::loop_over<3>(x.shape(), {&out, &x, &mask});
  dispatch_float("masked_fill", x.dtype(), [&]<class T>() {
    kernels::masked_fill(loop, out.mutable_data<T>(), x.data<T>(), mask.data<bool>(), static_cast<T>(value));
  });
  const auto pull = [mask = Saved(mask)](const Tensor& gy) { return masked_fill(gy, mask, 0.0); };
  // The number is an input, so that AnomalyMode accepts an infinity in it; it gets no gradient.
  const Tensor filler = autograd::anomaly_mode ? number(x, value) : Tensor();
  autograd::trace_attributes(mask, value);
  return record("masked_fill", std::move(out), {{x, pull}, {filler, [](const Tensor& gy) { return gy; }}});
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, const Tensor& value) {
  check_same_dtype("masked_fill", x, value);
  check_mask("masked_fill", mask);
  if (value.dim() != 0) fail("masked_fill", "the value must be a scalar, got shape ", value.shape(), ".");
  return where(mask, value, x);
}

Tensor clamp(const Tensor& x, const Tensor& min, const Tensor& max) {
  check_floating("clamp", x);
  if (!min.defined() && !max.defined()) fail("clamp", "needs a bound, got none.");
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor low = min.defined() ? min : number(x, -inf), high = max.defined() ? max : number(x, inf);
  check_same_dtype("clamp", x, low);
  check_same_dtype("clamp", x, high);
  broadcast_shapes("clamp", x.shape(), broadcast_shapes("clamp", low.shape(), high.shape()));
  const Tensor raised = raw::binary(kernels::Binary::maximum, x, low);
  const auto to_x = [x = Saved(x), low = Saved(low), high = Saved(high)](const Tensor& gy) {
    const Tensor zero = number(gy, 0.0);
    return where(ge(x, low), where(le(x, high), gy, zero), zero);
  };
  const auto to_min = [x = Saved(x), low = Saved(low), high = Saved(high)](const Tensor& gy) {
    const Tensor zero = number(gy, 0.0);
    return where(lt(low, high), where(lt(x, low), gy, zero), zero);
  };
  const auto to_max = [x = Saved(x), low = Saved(low), high = Saved(high)](const Tensor& gy) {
    return where(lt(high, low), gy, where(gt(x, high), gy, number(gy, 0.0)));
  };
  Tensor out = raw::binary(kernels::Binary::minimum, raised, high);
  return record("clamp", std::move(out), {{x, to_x}, {min, to_min}, {max, to_max}});
}

Tensor eq(const Tensor& a, const Tensor& b) { return compare("eq", Compare::eq, a, b); }
Tensor ne(const Tensor& a, const Tensor& b) { return compare("ne", Compare::ne, a, b); }
Tensor lt(const Tensor& a, const Tensor& b) { return compare("lt", Compare::lt, a, b); }
Tensor le(const Tensor& a, const Tensor& b) { return compare("le", Compare::le, a, b); }
Tensor gt(const Tensor& a, const Tensor& b) { return compare("gt", Compare::gt, a, b); }
Tensor ge(const Tensor& a, const Tensor& b) { return compare("ge", Compare::ge, a, b); }
Tensor eq(const Tensor& a, double b) { return compare("eq", Compare::eq, a, b); }
Tensor ne(const Tensor& a, double b) { return compare("ne", Compare::ne, a, b); }
Tensor lt(const Tensor& a, double b) { return compare("lt", Compare::lt, a, b); }
Tensor le(const Tensor& a, double b) { return compare("le", Compare::le, a, b); }
Tensor gt(const Tensor& a, double b) { return compare("gt", Compare::gt, a, b); }
Tensor ge(const Tensor& a, double b) { return compare("ge", Compare::ge, a, b); }

}  // namespace gradus
