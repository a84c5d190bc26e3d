#include "gradus/autograd/ops/arguments.hpp"

namespace gradus {
namespace {

using kernels::Binary;

Tensor values(OpName op, Binary kernel, const Tensor& a, const Tensor& b) {
  check_same_dtype(op.name, a, b);
  check_number(op.name, a);
  if (a.shape() != b.shape()) broadcast_shapes(op.name, a.shape(), b.shape());
  return raw::binary(kernel, a, b);
}

// The tensor, and the number, of an op on both.
Tensor number(OpName op, const Tensor& x, double value) {
  check_defined(op.name, x);
  return number(x, value);
}

Tensor operand(OpName op, const Tensor& x, double number) {
  check_defined(op.name, x);
  check_number(op.name, x);
  return promoted(x, number);
}

void check_whole_powers(const Tensor& exponent) {
  const Tensor packed = raw::contiguous(exponent);
  const int64_t* first = packed.data<int64_t>();
  for (int64_t i = 0; i < packed.numel(); ++i)
    if (first[i] < 0)
      fail("pow", "int64 exponents must not be negative, got ", first[i], ". Hint: convert with to().");
}

Tensor pass(const Tensor& gy) { return gy; }

// maximum or minimum. An operand gets the gradient where it is the result, half of it where both are equal.
Tensor extreme(OpName op, Binary kernel, const Tensor& a, const Tensor& b,
               Tensor (*loses)(const Tensor&, const Tensor&)) {
  if (const auto one = mixed_dtype(op.name, a, b)) return extreme(op, kernel, a.to(*one), b.to(*one), loses);
  const auto rule_of = [loses](const Tensor& x, const Tensor& other) {
    return [loses, x = Saved(x), other = Saved(other)](const Tensor& gy) {
      return masked_fill(where(eq(x, other), gy * 0.5, gy), loses(x, other), 0.0);
    };
  };
  return record(op, values(op, kernel, a, b), {{a, rule_of(a, b)}, {b, rule_of(b, a)}});
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) {
  if (const auto one = mixed_dtype("add", a, b)) return add(a.to(*one), b.to(*one));
  return record("add", values("add", Binary::add, a, b), {{a, pass}, {b, pass}});
}

Tensor sub(const Tensor& a, const Tensor& b) {
  if (const auto one = mixed_dtype("sub", a, b)) return sub(a.to(*one), b.to(*one));
  return record("sub", values("sub", Binary::sub, a, b),
                {{a, pass}, {b, [](const Tensor& gy) { return neg(gy); }}});
}

Tensor mul(const Tensor& a, const Tensor& b) {
  if (const auto one = mixed_dtype("mul", a, b)) return mul(a.to(*one), b.to(*one));
  return record("mul", values("mul", Binary::mul, a, b),
                {{a, [b = Saved(b)](const Tensor& gy) { return gy * b; }},
                 {b, [a = Saved(a)](const Tensor& gy) { return gy * a; }}});
}

Tensor div(const Tensor& a, const Tensor& b) {
  if (const auto one = mixed_dtype("div", a, b)) return div(a.to(*one), b.to(*one));
  if (a.dtype() == DType::int64) return div(a.to(DType::float32), b.to(DType::float32));
  return record("div", values("div", Binary::div, a, b),
                {{a, [b = Saved(b)](const Tensor& gy) { return gy / b; }},
                 {b, [b = Saved(b)](const Tensor& gy, const Tensor& y) { return neg(gy * y / b); }}});
}

Tensor pow(const Tensor& base, const Tensor& exponent) {
  if (const auto one = mixed_dtype("pow", base, exponent)) return pow(base.to(*one), exponent.to(*one));
  if (exponent.dtype() == DType::int64) check_whole_powers(exponent);
  const auto to_base = [b = Saved(base), e = Saved(exponent)](const Tensor& gy) {
    const Tensor is_flat = eq(e, 0.0), zero = number(gy, 0.0);
    const Tensor slope = *e * pow(b, *e - 1.0);
    return where(is_flat, zero, gy) * where(is_flat, zero, slope);  // not 0 * inf
  };
  const auto to_exponent = [b = Saved(base), e = Saved(exponent)](const Tensor& gy, const Tensor& y) {
    const Tensor never = zeros({}, DType::boolean);
    const Tensor is_flat = where(eq(b, 0.0), ge(e, 0.0), never);  // 0 to any power from 0 on
    return gy * where(is_flat, number(gy, 0.0), y * log(b));
  };
  return record("pow", values("pow", Binary::pow, base, exponent),
                {{base, to_base}, {exponent, to_exponent}});
}

Tensor maximum(const Tensor& a, const Tensor& b) { return extreme("maximum", Binary::maximum, a, b, lt); }
Tensor minimum(const Tensor& a, const Tensor& b) { return extreme("minimum", Binary::minimum, a, b, gt); }

Tensor operator+(const Tensor& a, double b) { return add(operand("add", a, b), number("add", a, b)); }
Tensor operator-(const Tensor& a, double b) { return sub(operand("sub", a, b), number("sub", a, b)); }
Tensor operator*(const Tensor& a, double b) { return mul(operand("mul", a, b), number("mul", a, b)); }
Tensor operator/(const Tensor& a, double b) { return div(operand("div", a, b), number("div", a, b)); }
Tensor operator+(double a, const Tensor& b) { return add(number("add", b, a), operand("add", b, a)); }
Tensor operator-(double a, const Tensor& b) { return sub(number("sub", b, a), operand("sub", b, a)); }
Tensor operator*(double a, const Tensor& b) { return mul(number("mul", b, a), operand("mul", b, a)); }
Tensor operator/(double a, const Tensor& b) { return div(number("div", b, a), operand("div", b, a)); }

Tensor pow(const Tensor& base, double exponent) {
  check_defined("pow", base);
  if (base.dtype() == DType::int64 && exponent < 0) return pow(base.to(DType::float32), exponent);
  return pow(operand("pow", base, exponent), number(base, exponent));
}

}  // namespace gradus
