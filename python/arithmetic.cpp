// Arithmetic, choices, comparisons and reductions, with PyTorch's names and defaults: see operation.hpp.
#include <cfloat>
#include <cmath>

#include "gradus/autograd/graph/modes.hpp"
#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/tensor/raw.hpp"
#include "gradus/python/operation.hpp"

namespace gradus::python {
namespace {

using namespace arguments;

Tensor filled(T x, T given, O value) {
  const Tensor mask = given.dtype() == DType::int64 ? ne(given, 0.0) : given;
  if (value.tensor.defined()) return masked_fill(x, mask, value.tensor);
  if (is_floating(x.dtype())) return masked_fill(x, mask, value.number);
  if (!value.is_whole() && value.number != std::floor(value.number))
    fail("masked_fill", "needs a whole number for ", name(x.dtype()), " values, got ", value.number, ".");
  return where(mask, full({}, value.number, x.dtype()), x);
}

// The values y of a function of x whose gradient is 0.
Tensor flat(T x, T y) {
  return record(OpName::custom("flat"), y, {{x, [](T gy) { return gy * 0.0; }}});
}

// Values by a function of one number.
template <double (*f)(double)>
Tensor rounded(T x) {
  const Tensor y = raw::clone(x.detach());
  if (!is_floating(x.dtype())) return y;
  dispatch_float("round", x.dtype(), [&]<class E>() {
    E* const values = Tensor(y).mutable_data<E>();
    std::transform(values, values + y.numel(), values, [](E v) { return static_cast<E>(f(v)); });
  });
  return flat(x, y);
}

Tensor to(T x, OptionalDtype dtype) { return dtype ? x.to(*dtype) : x; }
Tensor countable(T x) { return x.dtype() == DType::boolean ? x.to(DType::int64) : x; }  // of bool, sums count
Tensor truth(T x) { return ne(x, 0.0).to(DType::int64); }
// Whether a and b are both nonzero, and whether at least one is, as bools.
Tensor both(T a, T b) { return ne(truth(a) * truth(b), 0.0); }
Tensor either(T a, T b) { return ne(truth(a) + truth(b), 0.0); }

// NaN and infinities replaced by numbers.
Tensor finite(T x, D nan, OptionalD high, OptionalD low) {
  if (!is_floating(x.dtype())) return x;
  const double most = x.dtype() == DType::float32 ? FLT_MAX : DBL_MAX;
  const Tensor y = masked_fill(masked_fill(x, ne(x, x), nan), eq(x, INFINITY), high.value_or(most));
  return masked_fill(y, eq(x, -INFINITY), low.value_or(-most));
}

// A number as a tensor without dimensions, of the dtype that the other operand gives it.
Tensor tensor_of_operand(O x, O like) {
  if (x.tensor.defined()) return x.tensor;
  const DType other = like.tensor.defined() ? like.tensor.dtype() : like.dtype;
  return full({}, x.number, is_floating(other) || (x.is_whole() && other == DType::int64) ? other : x.dtype);
}
Tensor bools(O x) {
  const DType dtype = x.tensor.defined() ? x.tensor.dtype() : x.dtype;
  if (dtype != DType::boolean) fail("logical", "needs bools, got ", name(dtype), ".");
  return tensor_of_operand(x, x);
}

Tensor clamped(T x, const std::optional<Operand>& min, const std::optional<Operand>& max) {
  if ((min && min->tensor.defined()) || (max && max->tensor.defined()))
    return clamp(x, min ? tensor_of_operand(*min, {x}) : Tensor(),
                 max ? tensor_of_operand(*max, {x}) : Tensor());
  if (is_floating(x.dtype())) return clamp(x, min ? min->number : -INFINITY, max ? max->number : INFINITY);
  const Tensor y = min ? where(lt(x, min->number), tensor_of_operand(*min, {x}), x) : x;
  return max ? where(gt(y, max->number), tensor_of_operand(*max, {x}), y) : y;
}

// x for an operation with y, of which both are floating: a tensor without dimensions takes the other's dtype,
// else float64 wins.
Tensor common(T x, T y) {
  if (x.dtype() == y.dtype() || !is_floating(x.dtype()) || !is_floating(y.dtype())) return x;
  const bool mine = (x.dim() > 0) == (y.dim() > 0) ? x.dtype() == DType::float64 : x.dim() > 0;
  return mine ? x : x.to(y.dtype());
}

// x for an operation with a number: whole numbers meet a float as floats, and bools count beside an int.
Tensor with_number(T x, O y) {
  if (!x.defined() || is_floating(x.dtype())) return x;
  return y.is_whole() ? countable(x) : x.to(DType::float32);
}

// The sum of bools is whether one holds, their product whether both do.
bool are_bools(T a, T b) { return a.dtype() == DType::boolean && b.dtype() == DType::boolean; }
bool is_tensor(O b) { return b.tensor.defined(); }
bool is_bool(T a, O b) { return a.dtype() == DType::boolean || b.dtype == DType::boolean; }
bool is_tensor_or_bool(T a, O b) {
  return is_tensor(b) || (a.dtype() == DType::boolean && b.dtype == DType::boolean);
}
Tensor multiplied(T a, T b) { return are_bools(a, b) ? both(a, b) : common(a, b) * common(b, a); }
Tensor added(T a, T b, D alpha) {
  if (are_bools(a, b)) return alpha == 0 ? a : either(a, b);
  return common(a, b) + (alpha == 1 ? common(b, a) : common(b, a) * alpha);
}
Tensor subtracted(T a, T b, D alpha) {
  if (a.dtype() == DType::boolean || b.dtype() == DType::boolean)
    fail("sub", "needs numbers, got bool. Hint: ~mask inverts a mask.");
  return common(a, b) - (alpha == 1 ? common(b, a) : common(b, a) * alpha);
}

// max() and min() of all elements, with another tensor, or along a dimension.
template <Tensor (*all)(T), Tensor (*pair)(T, T), ValuesAndIndices (*along)(T, N, bool)>
OneOrBoth extreme(T x, const std::optional<Operand>& dim, B keep) {
  if (!dim) return all(x);
  return dim->tensor.defined() ? OneOrBoth(pair(x, dim->tensor))
                               : along(x, static_cast<N>(dim->number), keep);
}

// Both operands in one dtype and shape.
std::pair<Tensor, Tensor> matched(T a, T b) {
  const Tensor x = common(a, b), y = common(b, a);
  const DType dtype = is_floating(x.dtype()) ? x.dtype() : is_floating(y.dtype()) ? y.dtype() : DType::int64;
  const Shape shape = broadcast_shapes("quotient", x.shape(), y.shape());
  return {x.to(dtype).expand(shape), y.to(dtype).expand(shape)};
}

// a / b rounded down, or the remainder, of the sign of b: exact for whole numbers, and by the remainder for
// others, as in Python. A whole b must not be 0.
template <bool is_quotient, class E>
E floored_number(E a, E b) {
  E r = b;
  if constexpr (std::is_floating_point_v<E>)
    r = std::fmod(a, b);
  else if (b == 0)
    fail("remainder", "a whole number is divided by 0.");
  else
    r = b == -1 ? 0 : a % b;  // of the smallest a, % traps
  const bool is_above = r != 0 && (b < 0) != (r < 0);
  if constexpr (!is_quotient)
    return is_above ? r + b : r;
  else if constexpr (!std::is_floating_point_v<E>)
    return b == -1 ? static_cast<E>(-static_cast<uint64_t>(a)) : a / b - is_above;
  else
    return b == 0 ? a / b : std::copysign(std::nearbyint((a - r) / b - is_above), a / b);
}

// The same of all elements, outside the graph.
template <bool is_quotient>
Tensor floored(T a, T b) {
  const auto [x, y] = matched(a.detach(), b.detach());
  const Tensor first = x.contiguous(), second = y.contiguous();
  Tensor result = empty(x.shape(), x.dtype());
  dispatch_number("quotient", x.dtype(), [&]<class E>() {
    std::transform(first.data<E>(), first.data<E>() + first.numel(), second.data<E>(),
                   result.mutable_data<E>(), floored_number<is_quotient, E>);
  });
  return result;
}

// a / b, rounded down or towards 0 if that is asked for.
Tensor divided(T a, O b, const std::optional<std::string>& rounding) {
  if (rounding == "floor") return floored<true>(a, tensor_of_operand(b, {a}));
  if (rounding && rounding != "trunc")
    fail("div", "rounding_mode must be 'floor' or 'trunc', got ", *rounding, ".");
  const bool whole = !is_floating(a.dtype()) && !is_floating(b.tensor.defined() ? b.tensor.dtype() : b.dtype);
  if (rounding && whole) {
    const Tensor by = tensor_of_operand(b, {a}), down = floored<true>(a, by), rest = floored<false>(a, by);
    return down + truth(lt(down, 0.0)) * truth(rest);
  }
  const Tensor y = b.tensor.defined() ? common(a, b.tensor) / common(b.tensor, a) : countable(a) / b.number;
  return !rounding ? y : rounded<std::trunc>(y);
}

Tensor remainder(T a, T b) {
  const auto [x, y] = matched(a, b);
  const Tensor value = floored<false>(x, y);
  if (!grad_enabled() || !(x.requires_grad() || y.requires_grad())) return value;
  const Tensor q = floored<true>(x, y);
  return record(OpName::custom("remainder"), value,
                {{x, [](T gy) { return gy; }}, {y, [q](T gy) { return gy * -q; }}});
}

// Elements of a or b; without them, the indices where the condition holds, one tensor for each dimension.
py::object chosen(T condition, const std::optional<Operand>& a, const std::optional<Operand>& b) {
  if (a && b) {
    const Tensor x = tensor_of_operand(*a, *b), y = tensor_of_operand(*b, *a);
    return py::cast(where(condition, common(x, y), common(y, x)));
  }
  return py::cast(nonzero(condition)).attr("unbind")(1);
}

// var() or stddev(), where `unbiased` may be in the place of the dims.
using Which = const std::variant<bool, Ints>&;
autograd::Dims dims_of(Which dim) {
  return std::holds_alternative<Ints>(dim) ? std::get<Ints>(dim).values : autograd::Dims();
}
template <Tensor (*f)(T, const autograd::Dims&, N, bool)>
Tensor spread(T x, Which dim, B unbiased, B keep, OptionalN correction) {
  const bool* const own = std::get_if<bool>(&dim);
  return f(x, dims_of(dim), correction.value_or(own ? *own : unbiased), keep);
}
template <Tensor (*f)(T, const autograd::Dims&, N, bool)>
std::vector<Tensor> spread_and_mean(T x, Which dim, B unbiased, B keep, OptionalN correction) {
  return {spread<f>(x, dim, unbiased, keep, correction), mean(x, dims_of(dim), keep)};
}

// The product along a dimension, or of all elements if `dim` is empty.
Tensor product(T x, OptionalN dim, B keep) {
  if (!dim) return product(x.reshape({-1}), 0, false);
  const Tensor counted = countable(x);
  Tensor y = ones(sum(counted.detach(), {*dim}).shape(), counted.dtype());
  for (N i = 0; i < counted.size(*dim); ++i) y = y * counted.select(*dim, i);
  return keep ? y.unsqueeze(*dim) : y;
}

}  // namespace

// A row is a line; a long one continues in the next.
// clang-format off

#define REVERSED(tensors, number) [](T a, O b) { return b.tensor.defined() ? tensors(common(b.tensor, a), common(a, b.tensor)) : number; }
#define BINARY(tensors, number) [](T a, O b) { return b.tensor.defined() ? tensors(common(a, b.tensor), common(b.tensor, a)) : number; }

void add_arithmetic(Table& t) {
  // -- arithmetic
  t("*add __add__(input, other, alpha=1)", [](T a, O b, D alpha) { return is_tensor_or_bool(a, b) ? added(a, tensor_of_operand(b, {a}), alpha) : with_number(a, b) + b.number * alpha; });
  t("*sub subtract __sub__(input, other, alpha=1)", [](T a, O b, D alpha) { return is_tensor(b) || is_bool(a, b) ? subtracted(a, tensor_of_operand(b, {a}), alpha) : with_number(a, b) - b.number * alpha; });
  t("*mul multiply __mul__(input, other)", [](T a, O b) { return is_tensor_or_bool(a, b) ? multiplied(a, tensor_of_operand(b, {a})) : with_number(a, b) * b.number; });
  t("*div divide true_divide __truediv__(input, other, rounding_mode=None)", of<divided>);
  t("*pow __pow__(input, exponent) tensor:Pow0|Pow1",
    [](O a, O b) { return b.tensor.defined() ? pow(common(tensor_of_operand(a, b), b.tensor), common(b.tensor, tensor_of_operand(a, b))) : pow(with_number(a.tensor, b), b.number); });
  t("*floor_divide __floordiv__(input, other)", [](T a, O b) { return floored<true>(a, tensor_of_operand(b, {a})); });
  t("*remainder __mod__(input, other) Remainder0", [](T a, O b) { return remainder(a, tensor_of_operand(b, {a})); });
  t(".__radd__(input, other)", [](T a, O b) { return is_tensor_or_bool(a, b) ? added(tensor_of_operand(b, {a}), a, 1) : b.number + with_number(a, b); });
  t(".__rsub__(input, other) Rsub1", [](T a, O b) { return is_tensor(b) || is_bool(a, b) ? subtracted(tensor_of_operand(b, {a}), a, 1) : b.number - with_number(a, b); });
  t(".__rmul__(input, other)", [](T a, O b) { return is_tensor_or_bool(a, b) ? multiplied(tensor_of_operand(b, {a}), a) : b.number * with_number(a, b); });
  t(".__rtruediv__(input, other) Mul0", REVERSED(div, b.number / a));
  t(".__rfloordiv__(input, other)", [](T a, O b) { return floored<true>(tensor_of_operand(b, {a}), a); });
  t(".__rmod__(input, other) Remainder1", [](T a, O b) { return remainder(tensor_of_operand(b, {a}), a); });
  t(".__rpow__(input, other) Pow1", [](T a, O b) { return pow(tensor_of_operand(b, {a}), a); });
  t("*log2(input) Log20", [](T x) { return log(with_number(x, {})) / std::log(2.0); });
  t("*log10(input) Log100", [](T x) { return log(with_number(x, {})) / std::log(10.0); });
  t("*floor(input) Floor0", of<rounded<std::floor>>);
  t("*ceil(input) Ceil0", of<rounded<std::ceil>>);
  t("*trunc(input) Trunc0", of<rounded<std::trunc>>);
  t("*round(input, decimals=0) Round0", [](T x, N decimals) { return decimals == 0 ? rounded<std::nearbyint>(x) : rounded<std::nearbyint>(x * std::pow(10.0, decimals)) / std::pow(10.0, decimals); });
  t("sign(input) Sign0", [](T x) { return is_floating(x.dtype()) ? flat(x, sign(x)) : truth(gt(x, 0.0)) - truth(lt(x, 0.0)); });
  t("*relu(input)", [](T x) { return is_floating(x.dtype()) ? relu(x) : x * gt(x, 0.0); });
  t("*square(input) Pow0", [](T x) { return x * x; });
  t("*lerp(input, end, weight) Lerp0",
    [](T x, T end, O weight) { return weight.tensor.defined() ? x + (end - x) * weight.tensor : std::abs(weight.number) < 0.5 ? x + (end - x) * weight.number : end - (end - x) * (1 - weight.number); });
  t("*addcmul(input, tensor1, tensor2, value=1) Addcmul0", [](T x, T a, T b, D value) { return x + a * b * value; });
  t("*addcdiv(input, tensor1, tensor2, value=1) Addcdiv0", [](T x, T a, T b, D value) { return x + a / b * value; });
  t("*reciprocal(input) Reciprocal0", [](T x) { return 1.0 / x; });
  t("*clamp clip(input, min=None, max=None) Clamp1", of<clamped>);
  // -- choices and comparisons
  t(":where(condition, input=None, other=None)", of<chosen>);
  t(".where(input, condition, other) Where0", [](O a, T condition, O b) { return chosen(condition, a, b); });
  t("*masked_fill(input, mask, value)", of<filled>);
  t("eq __eq__(input, other)", BINARY(eq, eq(a, b.number)));
  t("ne not_equal __ne__(input, other)", BINARY(ne, ne(a, b.number)));
  t("lt less __lt__(input, other)", BINARY(lt, lt(a, b.number)));
  t("le less_equal __le__(input, other)", BINARY(le, le(a, b.number)));
  t("gt greater __gt__(input, other)", BINARY(gt, gt(a, b.number)));
  t("ge greater_equal __ge__(input, other)", BINARY(ge, ge(a, b.number)));
  t("logical_and(input, other)", of<both>);
  t("logical_or(input, other)", of<either>);
  t("logical_xor(input, other)", [](T a, T b) { return ne(truth(a), truth(b)); });
  t("logical_not(input)", [](T x) { return eq(x, 0.0); });
#define LOGICAL(name, value) t("*__" name "__(input, other)", [](T a, O b) { return value; }); t(".__r" name "__(input, other)", [](T a, O b) { return value; });
  LOGICAL("and", both(bools({a}), bools(b)))
  LOGICAL("or", either(bools({a}), bools(b)))
  LOGICAL("xor", ne(bools({a}), bools(b)))
#undef LOGICAL
  t("bitwise_not __invert__(input)", [](T x) { return eq(bools({x}), 0.0); });
  t("*nan_to_num(input, nan=0.0, posinf=None, neginf=None) NanToNum0", of<finite>);
  t("isnan(input)", [](T x) { return ne(x, x); });
  t("isinf(input)", [](T x) { return eq(abs(x), INFINITY); });
  t("isfinite(input)", [](T x) { return lt(abs(x), INFINITY); });
  // -- reductions
  t("prod(input, dim=None, keepdim=False) dim:Prod0|Prod1", of<product>);
  t("var(input, dim=None, unbiased=True, keepdim=False, correction=None) Var0", of<spread<var>>);
  t("std(input, dim=None, unbiased=True, keepdim=False, correction=None) Std0", of<spread<stddev>>);
  t(":var_mean(input, dim=None, unbiased=True, keepdim=False, correction=None) VarMean0", of<spread_and_mean<var>>);
  t(":std_mean(input, dim=None, unbiased=True, keepdim=False, correction=None) StdMean0", of<spread_and_mean<stddev>>);
  t("max(input, dim=None, keepdim=False) dim:Max1|Max0|Maximum0", of<extreme<max, maximum, max>>);
  t("min(input, dim=None, keepdim=False) dim:Min1|Min0|Minimum0", of<extreme<min, minimum, min>>);
  t("argmax(input, dim=None, keepdim=False)", [](T x, OptionalN dim, B keep) { return dim ? argmax(x, *dim, keep) : argmax(x.reshape({-1}), 0); });
  t("argmin(input, dim=None, keepdim=False)", [](T x, OptionalN dim, B keep) { return dim ? argmin(x, *dim, keep) : argmin(x.reshape({-1}), 0); });
  t("all(input, dim=None, keepdim=False)", [](T x, I dim, B keep) { return eq(sum(eq(x, 0.0).to(DType::int64), dim.values, keep), 0.0); });
  t("any(input, dim=None, keepdim=False)", [](T x, I dim, B keep) { return ne(sum(truth(x), dim.values, keep), 0.0); });
  t("cumsum(input, dim, reverse=False)", [](T x, N dim, B reverse) { return cumsum(countable(x), dim, reverse); });
  t("softmax(input, dim, dtype=None)", [](T x, N dim, OptionalDtype dtype) { return softmax(to(x, dtype), dim); });
  t("log_softmax(input, dim, dtype=None)", [](T x, N dim, OptionalDtype dtype) { return log_softmax(to(x, dtype), dim); });
  t("count_nonzero(input, dim=None)", [](T x, I dim) { return sum(truth(x), dim.values); });
  t("argwhere(input)", of<nonzero>);
  t("nonzero(input, as_tuple=False)", [](T x, B tuple) { return tuple ? chosen(x, {}, {}) : py::object(py::cast(nonzero(x))); });
}

// clang-format on

}  // namespace gradus::python
