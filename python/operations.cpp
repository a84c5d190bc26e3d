// The rows of operations on tensors, with PyTorch's names and defaults: see operation.hpp.
#include <cfloat>
#include <cmath>
#include <numeric>
#include <set>

#include "gradus/autograd/graph/node.hpp"
#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/autograd/tensor/raw.hpp"
#include "gradus/python/operation.hpp"
#ifdef GRADUS_HAS_LAYERS  // an annex
#include "gradus/annexes/layers/ops/windows.hpp"
#endif

namespace gradus::python {
namespace {

using namespace arguments;
// The result of max() and min(): of all elements or with another tensor, or along a dimension.
using OneOrBoth = std::variant<Tensor, ValuesAndIndices>;

// Functions whose values are no whole numbers take these as float32.
template <Tensor (*f)(T)>
Tensor of_floats(T x) {
  return f(is_floating(x.dtype()) ? x : x.to(DType::float32));
}

// Adds a row of operations.def.
template <auto f>
void add_function(Table& t, const char* row) {
  if constexpr (std::is_same_v<decltype(f), Tensor (*)(T)>)
    if (row[0] == '~') return t(row, of<of_floats<f>>);
  t(row, of<f>);
}

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
  if (!grad_enabled() || !x.requires_grad()) return y;
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

DType or_float(OptionalDtype dtype) { return dtype.value_or(DType::float32); }
DType or_of(OptionalDtype dtype, T like) { return dtype.value_or(like.dtype()); }
Tensor to(T x, OptionalDtype dtype) { return dtype ? x.to(*dtype) : x; }
Tensor made(Tensor x, bool requires_grad) { return requires_grad ? x.requires_grad_() : x; }
Tensor countable(T x) { return x.dtype() == DType::boolean ? x.to(DType::int64) : x; }  // of bool, sums count
Tensor truth(T x) { return ne(x, 0.0).to(DType::int64); }

// draw(shape, is_packed), whose elements are in the order of those of x in memory.
template <class F>
Tensor in_order_of(T x, const F& draw, bool is_packed = true) {
  for (int d = 1; d < x.dim(); ++d)
    if (x.strides()[d - 1] != 0 && x.strides()[d] > x.strides()[d - 1])
      return in_order_of(x.transpose(d - 1, d), draw, false).transpose(d - 1, d);
  return draw(x.shape(), is_packed);
}
// Numbers of the normal distribution. PyTorch draws 16 or more at once if their tensor is packed.
Tensor normals(S size, bool is_packed, D mean, D std, G g, DType dtype) {
  if (is_packed || size.numel() < 16) return normal(size, mean, std, g, dtype);
  std::vector<Tensor> parts;
  for (N left = size.numel(); left > 0; left -= 15)
    parts.push_back(normal({std::min<N>(left, 15)}, mean, std, g, dtype));
  return cat(parts, 0).reshape(size);
}

// NaN and infinities replaced by numbers.
Tensor finite(T x, D nan, OptionalD high, OptionalD low) {
  if (!is_floating(x.dtype())) return x;
  const double most = x.dtype() == DType::float32 ? FLT_MAX : DBL_MAX;
  const Tensor y = masked_fill(masked_fill(x, ne(x, x), nan), eq(x, INFINITY), high.value_or(most));
  return masked_fill(y, eq(x, -INFINITY), low.value_or(-most));
}

Tensor narrowed(T x, N dim, N start, N length) {
  const N size = x.size(dim), first = start < 0 ? start + size : start;
  if (first < 0 || length < 0 || length > size - first)
    fail("narrow", "start ", start, " and length ", length, " must lie in a dimension of ", size, ".");
  return x.slice(dim, first, first + length);
}

// A number as a tensor without dimensions, of the dtype that the other operand gives it.
Tensor tensor_of_operand(O x, O like) {
  if (x.tensor.defined()) return x.tensor;
  const DType other = like.tensor.defined() ? like.tensor.dtype() : like.dtype;
  return full({}, x.number, is_floating(other) || (x.is_whole() && other == DType::int64) ? other : x.dtype);
}
// A tensor of copies of a number, or of a tensor's element.
Tensor filled_with(S size, O value, DType dtype) {
  if (!value.tensor.defined()) return full(size, value.number, dtype);
  Tensor x = empty(size, dtype);
  x.copy_(value.tensor.detach());
  return x;
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
// The number of an operand, which may be a tensor of one element.
Operand number_of(O x) {
  if (!x.tensor.defined()) return x;
  return {{}, x.tensor.item(), is_floating(x.tensor.dtype()) ? DType::float32 : DType::int64};
}

// The sum of bools is whether one holds, their product whether both do.
bool are_bools(T a, T b) { return a.dtype() == DType::boolean && b.dtype() == DType::boolean; }
Tensor multiplied(T a, T b) {
  return are_bools(a, b) ? ne(truth(a) * truth(b), 0.0) : common(a, b) * common(b, a);
}
Tensor added(T a, T b, D alpha) {
  if (are_bools(a, b)) return ne(truth(a) + truth(b), 0.0);
  return common(a, b) + (alpha == 1 ? common(b, a) : common(b, a) * alpha);
}
Tensor subtracted(T a, T b, D alpha) {
  return common(a, b) - (alpha == 1 ? common(b, a) : common(b, a) * alpha);
}

// max() and min() of all elements, with another tensor, or along a dimension.
template <Tensor (*all)(T), Tensor (*pair)(T, T), ValuesAndIndices (*along)(T, N, bool)>
OneOrBoth extreme(T x, const std::optional<Operand>& dim, B keep) {
  if (!dim) return all(x);
  return dim->tensor.defined() ? OneOrBoth(pair(x, dim->tensor))
                               : along(x, static_cast<N>(dim->number), keep);
}

// PyTorch rounds vectors of eight elements as the sum of the first and multiples of the step.
template <class First, class Next>
Tensor by_eights(N count, const First& first, const Next& next) {
  std::vector<float> y(static_cast<size_t>(count));
  for (N i = 0; i < count; ++i) {
    const N k = i < count / 16 * 16 ? i % 8 : 0;
    y[static_cast<size_t>(i)] = k == 0 ? first(i) : next(first(i - k), static_cast<float>(k));
  }
  return tensor(y, Shape{count});
}

Tensor range(O from, const std::optional<Operand>& to, O by, OptionalDtype dtype, V, B grad) {
  const Operand start = number_of(from), step = number_of(by);
  const std::optional<Operand> end = to ? std::optional(number_of(*to)) : std::nullopt;
  const bool whole = start.is_whole() && step.is_whole() && (!end || end->is_whole());
  const DType type = dtype.value_or(whole ? DType::int64 : DType::float32);
  const double first = end ? start.number : 0, last = end ? end->number : start.number;
  const Tensor exact = arange(first, last, step.number, type);
  if (type != DType::float32) return made(exact, grad);
  return made(by_eights(
                  exact.numel(),
                  [&](N i) { return static_cast<float>(first + step.number * static_cast<double>(i)); },
                  [&](float y, float k) { return static_cast<float>(double{y} + k * step.number); }),
              grad);
}

Tensor float_linspace(D from, D to, N steps) {
  const auto start = static_cast<float>(from), end = static_cast<float>(to);
  const float step = (end - start) / static_cast<float>(std::max<N>(steps - 1, 1));
  const auto at = [&](N i) {
    return i < steps / 2 ? std::fma(step, static_cast<float>(i), start)
                         : std::fma(-step, static_cast<float>(steps - 1 - i), end);
  };
  return steps == 1 ? tensor(std::vector<float>{start}, Shape{1})
                    : by_eights(steps, at, [&](float y, float k) { return y + k * step; });
}

// randint(low, high, size), randint(high, size), randint(high, size=size)
Tensor integers(N low, I high, const std::optional<Ints>& size, G g, OptionalDtype dtype, V) {
  if (high.is_one) return to(randint(low, high.values[0], Shape(size.value_or(Ints{}).values), g), dtype);
  return to(randint(0, low, Shape(size.value_or(high).values), g), dtype);
}

Tensor cross_entropy_of(T logits, T target, T weight, N ignore, Reduction reduction, D smoothing) {
  if (logits.dim() == 2 && target.dim() == 1 && !weight.defined() && smoothing == 0)
    return cross_entropy(logits, target, ignore, reduction);
  return cross_entropy(logits, target, CrossEntropyOptions{weight, ignore, reduction, smoothing});
}

Tensor view(T x, S shape) {
  const Tensor y = x.reshape(shape);
  if (y.impl()->storage == x.impl()->storage) return y;
  fail("view", "shape ", shape, " takes a copy of strides ", x.strides(), ". Hint: reshape() makes one.");
}

std::vector<Tensor> unbind(T x, N dim) {
  std::vector<Tensor> all;
  for (int64_t i = 0; i < x.size(dim); ++i) all.push_back(x.select(dim, i));
  return all;
}

// f(a, b) for each pair of elements, outside the graph; both have one shape and dtype.
template <class F>
Tensor by_pairs(T a, T b, F f) {
  const Tensor x = a.detach().contiguous(), by = b.detach().contiguous();
  Tensor y = empty(a.shape(), a.dtype());
  dispatch_number("quotient", a.dtype(), [&]<class E>() {
    std::transform(x.data<E>(), x.data<E>() + x.numel(), by.data<E>(), y.mutable_data<E>(), f);
  });
  return y;
}

// a / b rounded down, or the remainder, of the sign of b: exact for whole numbers, and by the remainder for
// others, as in Python. A whole b must not be 0.
template <bool is_quotient>
struct Floored {
  template <class E>
  E operator()(E a, E b) const {
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
};

// Both operands in one dtype and shape.
std::pair<Tensor, Tensor> matched(T a, T b) {
  const Tensor x = common(a, b), y = common(b, a);
  const DType dtype = is_floating(x.dtype()) ? x.dtype() : is_floating(y.dtype()) ? y.dtype() : DType::int64;
  const Shape shape = broadcast_shapes("quotient", x.shape(), y.shape());
  return {x.to(dtype).expand(shape), y.to(dtype).expand(shape)};
}

Tensor quotient(T a, T b) {
  const auto [x, y] = matched(a, b);
  return by_pairs(x, y, Floored<true>());
}

// a / b, rounded down or towards 0 if that is asked for.
Tensor divided(T a, O b, const std::optional<std::string>& rounding) {
  if (rounding == "floor") return quotient(a, tensor_of_operand(b, {a}));
  if (rounding && rounding != "trunc")
    fail("div", "rounding_mode must be 'floor' or 'trunc', got ", *rounding, ".");
  const bool whole = !is_floating(a.dtype()) && !is_floating(b.tensor.defined() ? b.tensor.dtype() : b.dtype);
  if (rounding && whole) {
    const auto [x, y] = matched(a, tensor_of_operand(b, {a}));
    const Tensor down = by_pairs(x, y, Floored<true>()), rest = by_pairs(x, y, Floored<false>());
    return down + truth(lt(down, 0.0)) * truth(rest);
  }
  const Tensor y = b.tensor.defined() ? common(a, b.tensor) / common(b.tensor, a) : countable(a) / b.number;
  return !rounding ? y : rounded<std::trunc>(y);
}

Tensor remainder(T a, T b) {
  const auto [x, y] = matched(a, b);
  const Tensor value = by_pairs(x, y, Floored<false>());
  if (!grad_enabled() || !(x.requires_grad() || y.requires_grad())) return value;
  const Tensor q = by_pairs(x, y, Floored<true>());
  return record(OpName::custom("remainder"), value,
                {{x, [](T gy) { return gy; }}, {y, [q](T gy) { return gy * -q; }}});
}

// Elements of a or b; without them, the indices where the condition holds, one tensor for each dimension.
py::object chosen(T condition, const std::optional<Operand>& a, const std::optional<Operand>& b) {
  if (a && b) {
    const Tensor x = tensor_of_operand(*a, *b), y = tensor_of_operand(*b, *a);
    return py::cast(where(condition, common(x, y), common(y, x)));
  }
  return py::tuple(py::cast(unbind(nonzero(condition), 1)));
}

// In the dtype that the widest of them has.
std::vector<Tensor> promoted(std::vector<Tensor> all) {
  const auto wider = [](T a, T b) {
    const auto rank = [](DType t) {
      return t == DType::float64 ? 3 : is_floating(t) ? 2 : t != DType::boolean;
    };
    return rank(a.dtype()) < rank(b.dtype());
  };
  const auto widest = std::max_element(all.begin(), all.end(), wider);
  for (Tensor& x : all) x = x.to(widest->dtype());
  return all;
}

// The dims of a variance, in whose place `unbiased` may be.
using Which = const std::variant<bool, Ints>&;
std::vector<N> dims_of(Which dim) {
  const auto* const ints = std::get_if<Ints>(&dim);
  return ints ? ints->values : std::vector<N>();
}
N correction(Which dim, B unbiased, OptionalN given) {
  const bool* const own = std::get_if<bool>(&dim);
  return given.value_or(own ? *own : unbiased);
}

// The product along a dimension, or of all elements if `dim` is empty.
Tensor product(T x, OptionalN dim, B keep) {
  if (!dim) return product(x.reshape({-1}), 0, false);
  const Tensor counted = countable(x);
  Tensor y = ones(sum(counted.detach(), {*dim}).shape(), counted.dtype());
  for (T part : unbind(counted, *dim)) y = y * part;
  return keep ? y.unsqueeze(*dim) : y;
}

Tensor attention(T q, T k, T v, T mask, D dropout, B causal, OptionalD scale, B gqa, N window, G g) {
  // PyTorch's first query sees the first key, the library's last query the last key.
  const bool differ =
      causal && window == 0 && !mask.defined() && q.dim() > 1 && k.dim() > 1 && q.size(-2) != k.size(-2);
  return scaled_dot_product_attention(q, k, v,
                                      {.causal = causal && !differ,
                                       .scale = scale,
                                       .window = window,
                                       .mask = differ ? ne(tril(ones({q.size(-2), k.size(-2)})), 0.0) : mask,
                                       .dropout = dropout,
                                       .generator = g.get(),
                                       .enable_gqa = gqa});
}

// All elements in their order if there is no dim.
Tensor rolled(T x, I shifts, I dims) {
  if (shifts.values.size() != std::max<size_t>(dims.values.size(), 1))
    fail("roll", "needs a shift for each of ", dims.values.size(), " dims, got ", shifts.values.size(), ".");
  if (dims.values.empty()) return rolled(x.reshape({-1}), shifts, {{0}}).reshape(x.shape());
  Tensor y = x;
  for (size_t i = 0; i < dims.values.size(); ++i) {
    const N dim = dims.values[i], size = x.size(dim), shift = shifts.values[i];
    const N first = size == 0 ? 0 : ((shift % size) + size) % size;
    y = cat({y.slice(dim, size - first, size), y.slice(dim, 0, size - first)}, dim);
  }
  return y;
}

// The lower of the two elements in the middle; NaN if there is one, which is sorted last.
Tensor median(T x) {
  const Tensor sorted = sort(x.flatten(), 0).values;
  const N last = x.numel() - 1;
  const bool is_nan = is_floating(x.dtype()) && last >= 0 && std::isnan(sorted.detach().at({last}));
  return sorted.select(0, is_nan ? last : last / 2);
}

Tensor copied(T x) {
  return grad_enabled() && x.requires_grad() ? (x * 1.0).contiguous() : raw::clone(x.detach());
}

// The tensor as a tile; new dimensions come in front.
Tensor repeated(T x, I counts) {
  Shape from = x.shape();
  while (from.size() < std::ssize(counts.values)) from.insert(0, 1);
  if (from.size() != std::ssize(counts.values))
    fail("repeat", "needs a count for each of ", x.dim(), " dimensions, got ", counts.values.size(), ".");
  Tensor y = x.reshape(from);
  for (int d = 0; d < from.size(); ++d)
    if (const N count = counts.values[static_cast<size_t>(d)]; count < 0)
      fail("repeat", "needs counts of at least 0, got ", count, ".");
    else if (count != 1)
      y = count == 0 ? y.slice(d, 0, 0) : cat(std::vector<Tensor>(static_cast<size_t>(count), y), d);
  return y.impl()->storage == x.impl()->storage ? copied(y) : y;
}

#ifdef GRADUS_HAS_LAYERS
using Sizes = std::variant<Ints, std::string>;  // "same" or "valid" is a padding

autograd::PerDim each(I sizes) { return autograd::PerDim(sizes.values); }
autograd::Padding padding_of(const Sizes& sizes) {
  if (const auto* name = std::get_if<std::string>(&sizes)) return *name;
  return each(std::get<Ints>(sizes));
}
#endif

py::object item(py::handle self) {
  const Tensor& x = tensor_of(self.ptr());
  static_cast<void>(x.item());  // throws unless there is one
  return dispatch_any(x.dtype(), [&]<class E>() -> py::object { return py::cast(x.data<E>()[0]); });
}

// The tensor, of which `name` is printed as grad_fn: of operations that Python composes.
py::handle named(py::handle x, Words name) {
  static auto* const names = new std::set<std::string>;  // they live as long as the program
  if (tensor_of(x.ptr()).requires_grad())
    reinterpret_cast<TensorObject*>(x.ptr())->grad_fn = names->insert(name).first->c_str();
  return x;
}

// Writes values that broadcast to the tensor, recorded if they or the tensor require gradients.
void write(py::handle self, T from, const char* op) {
  const Tensor& x = tensor_of(self.ptr());
  if (!grad_enabled() || (!from.requires_grad() && !x.requires_grad())) return x.detach().copy_(from);
  const Tensor value = from.to(x.dtype()).expand(x.shape()) * 1.0;
  become(self.ptr(), from.requires_grad() ? value : flat(x, value), op);
}

// The tensor becomes one on the values of another, which it shares if they are packed and of its dtype.
void set_data(py::handle self, T from) {
  const Tensor& x = tensor_of(self.ptr());
  if (!from.defined() || from.shape() != x.shape())
    fail("data", "needs values of shape ", x.shape(), ", got ",
         from.defined() ? concat(from.shape()) : "none", ".");
  const Tensor values = from.detach().to(x.dtype()).contiguous();
  for (autograd::TensorImpl* const impl : {x.impl(), x.impl()->alias.get()}) {
    if (!impl) continue;
    impl->storage = values.impl()->storage;
    impl->offset = values.impl()->offset;
    impl->strides = values.strides();
    impl->contiguous = true;
  }
}

// The order of equal values is PyTorch's: that of the C++ library's partial sorting.
ValuesAndIndices top(T x, N k, N dim, B largest, B is_sorted) {
  if (x.dim() == 0) return topk(x, k, dim, largest, is_sorted);
  const Tensor rows = raw::contiguous(x.detach().transpose(dim, -1));
  const N n = rows.size(-1);
  if (k < 0 || k > n) fail("topk", "k must be in [0, ", n, "], got ", k, ".");
  Shape shape = rows.shape();
  shape[shape.size() - 1] = k;
  Tensor places = empty(shape, DType::int64);
  N* place = places.mutable_data<N>();
  dispatch_number("topk", x.dtype(), [&]<class E>() {
    using Place = std::pair<E, N>;
    const auto before = [largest](const Place& a, const Place& b) {
      const bool a_is_nan = a.first != a.first, b_is_nan = b.first != b.first;
      return largest ? (a_is_nan && !b_is_nan) || a.first > b.first
                     : (!a_is_nan && b_is_nan) || a.first < b.first;
    };
    std::vector<Place> all(static_cast<size_t>(n));
    for (N row = 0; k > 0 && row < rows.numel() / n; ++row) {
      for (N i = 0; i < n; ++i) all[static_cast<size_t>(i)] = {rows.data<E>()[row * n + i], i};
      if (k * 64 <= n) {
        std::partial_sort(all.begin(), all.begin() + k, all.end(), before);
      } else {
        std::nth_element(all.begin(), all.begin() + k - 1, all.end(), before);
        if (is_sorted) std::sort(all.begin(), all.begin() + k - 1, before);
      }
      place =
          std::transform(all.begin(), all.begin() + k, place, [](const Place& one) { return one.second; });
    }
  });
  places = places.transpose(dim, -1).contiguous();
  return {gather(x, dim, places), places};
}

}  // namespace

// A row is a line.
// clang-format off

#define REVERSED(tensors, number) [](T a, O b) { return b.tensor.defined() ? tensors(common(b.tensor, a), common(a, b.tensor)) : number; }
#define BINARY(tensors, number) [](T a, O b) { return b.tensor.defined() ? tensors(common(a, b.tensor), common(b.tensor, a)) : number; }

void add_operations(Table& t) {
  // -- those of C++
#define FUNCTION(f, ...) __VA_OPT__(add_function<f>(t, __VA_ARGS__);)
#define GRADUS_OPERATION(name, python, ...) FUNCTION(name, python)
#define GRADUS_MEMBER(name, python, ...) FUNCTION(&Tensor::name, python)
#define GRADUS_COMPOSED(name, python) FUNCTION(name, python)
#include "gradus/autograd/graph/operations.def"
  // -- arithmetic
  t("*add __add__(input, other, alpha=1)", [](T a, O b, D alpha) { return b.tensor.defined() ? added(a, b.tensor, alpha) : with_number(a, b) + b.number * alpha; });
  t("*sub subtract __sub__(input, other, alpha=1)", [](T a, O b, D alpha) { return b.tensor.defined() ? subtracted(a, b.tensor, alpha) : with_number(a, b) - b.number * alpha; });
  t("*mul multiply __mul__(input, other)", [](T a, O b) { return b.tensor.defined() ? multiplied(a, b.tensor) : with_number(a, b) * b.number; });
  t("*div divide true_divide __truediv__(input, other, rounding_mode=None)", of<divided>);
  t("*pow __pow__(input, exponent) tensor:Pow0|Pow1", [](O a, O b) { return b.tensor.defined() ? pow(common(tensor_of_operand(a, b), b.tensor), common(b.tensor, tensor_of_operand(a, b))) : pow(with_number(a.tensor, b), b.number); });
  t("floor_divide __floordiv__(input, other)", [](T a, O b) { return quotient(a, tensor_of_operand(b, {a})); });
  t("remainder __mod__(input, other) Remainder0", [](T a, O b) { return remainder(a, tensor_of_operand(b, {a})); });
  t(".__radd__(input, other)", REVERSED(add, b.number + with_number(a, b)));
  t(".__rsub__(input, other) Rsub1", REVERSED(sub, b.number - with_number(a, b)));
  t(".__rmul__(input, other)", REVERSED(multiplied, b.number * with_number(a, b)));
  t(".__rtruediv__(input, other) Mul0", REVERSED(div, b.number / a));
  t(".__rfloordiv__(input, other)", [](T a, O b) { return quotient(tensor_of_operand(b, {a}), a); });
  t(".__rmod__(input, other) Remainder1", [](T a, O b) { return remainder(tensor_of_operand(b, {a}), a); });
  t(".__rpow__(input, other) Pow1", [](T a, O b) { return pow(tensor_of_operand(b, {a}), a); });
  t("*log2(input) Log20", [](T x) { return of_floats<log>(x) / std::log(2.0); });
  t("*log10(input) Log100", [](T x) { return of_floats<log>(x) / std::log(10.0); });
  t("*floor(input) Floor0", of<rounded<std::floor>>);
  t("*ceil(input) Ceil0", of<rounded<std::ceil>>);
  t("*trunc(input) Trunc0", of<rounded<std::trunc>>);
  t("*round(input, decimals=0) Round0", [](T x, N decimals) { return decimals == 0 ? rounded<std::nearbyint>(x) : rounded<std::nearbyint>(x * std::pow(10.0, decimals)) / std::pow(10.0, decimals); });
  t("sign(input) Sign0", [](T x) { return is_floating(x.dtype()) ? flat(x, sign(x)) : truth(gt(x, 0.0)) - truth(lt(x, 0.0)); });
  t("*relu(input)", [](T x) { return is_floating(x.dtype()) ? relu(x) : x * gt(x, 0.0); });
  t("*square(input) Pow0", [](T x) { return x * x; });
  t("*lerp(input, end, weight) Lerp0", [](T x, T end, O weight) { return weight.tensor.defined() ? x + (end - x) * weight.tensor : std::abs(weight.number) < 0.5 ? x + (end - x) * weight.number : end - (end - x) * (1 - weight.number); });
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
  t("logical_and(input, other)", [](T a, T b) { return ne(truth(a) * truth(b), 0.0); });
  t("logical_or(input, other)", [](T a, T b) { return ne(truth(a) + truth(b), 0.0); });
  t("logical_xor(input, other)", [](T a, T b) { return ne(truth(a), truth(b)); });
  t("logical_not(input)", [](T x) { return eq(x, 0.0); });
  t(".__and__ __rand__(input, other)", [](T a, O b) { return ne(truth(bools({a})) * truth(bools(b)), 0.0); });
  t(".__or__ __ror__(input, other)", [](T a, O b) { return ne(truth(bools({a})) + truth(bools(b)), 0.0); });
  t(".__xor__ __rxor__(input, other)", [](T a, O b) { return ne(bools({a}), bools(b)); });
  t("bitwise_not __invert__(input)", [](T x) { return eq(bools({x}), 0.0); });
  t("*nan_to_num(input, nan=0.0, posinf=None, neginf=None) NanToNum0", of<finite>);
  t("isnan(input)", [](T x) { return ne(x, x); });
  t("isinf(input)", [](T x) { return eq(abs(x), INFINITY); });
  t("isfinite(input)", [](T x) { return lt(abs(x), INFINITY); });
  // -- reductions
  t("sum(input, dim=None, keepdim=False, dtype=None) dim:Sum0|Sum1", [](T x, I dim, B keep, OptionalDtype dtype) { return sum(to(countable(x), dtype), dim.values, keep); });
  t("prod(input, dim=None, keepdim=False) dim:Prod0|Prod1", of<product>);
  t("mean(input, dim=None, keepdim=False, dtype=None) dim:Mean0|Mean1", [](T x, I dim, B keep, OptionalDtype dtype) { return mean(to(x, dtype), dim.values, keep); });
  t("var(input, dim=None, unbiased=True, keepdim=False, correction=None) Var0", [](T x, Which dim, B unbiased, B keep, OptionalN n) { return var(x, dims_of(dim), correction(dim, unbiased, n), keep); });
  t("std(input, dim=None, unbiased=True, keepdim=False, correction=None) Std0", [](T x, Which dim, B unbiased, B keep, OptionalN n) { return stddev(x, dims_of(dim), correction(dim, unbiased, n), keep); });
  t(":var_mean(input, dim=None, unbiased=True, keepdim=False, correction=None) VarMean0", [](T x, Which dim, B unbiased, B keep, OptionalN n) { return std::vector<Tensor>{var(x, dims_of(dim), correction(dim, unbiased, n), keep), mean(x, dims_of(dim), keep)}; });
  t(":std_mean(input, dim=None, unbiased=True, keepdim=False, correction=None) StdMean0", [](T x, Which dim, B unbiased, B keep, OptionalN n) { return std::vector<Tensor>{stddev(x, dims_of(dim), correction(dim, unbiased, n), keep), mean(x, dims_of(dim), keep)}; });
  t("max(input, dim=None, keepdim=False) dim:Max1|Max0|Maximum0", of<extreme<max, maximum, max>>);
  t("min(input, dim=None, keepdim=False) dim:Min1|Min0|Minimum0", of<extreme<min, minimum, min>>);
  t("argmax(input, dim=None, keepdim=False)", [](T x, OptionalN dim, B keep) { return dim ? argmax(x, *dim, keep) : argmax(x.reshape({-1}), 0); });
  t("argmin(input, dim=None, keepdim=False)", [](T x, OptionalN dim, B keep) { return dim ? argmin(x, *dim, keep) : argmin(x.reshape({-1}), 0); });
  t("all(input, dim=None, keepdim=False)", [](T x, I dim, B keep) { return eq(sum(eq(x, 0.0).to(DType::int64), dim.values, keep), 0.0); });
  t("any(input, dim=None, keepdim=False)", [](T x, I dim, B keep) { return ne(sum(ne(x, 0.0).to(DType::int64), dim.values, keep), 0.0); });
  t("cumsum(input, dim, reverse=False)", [](T x, N dim, B reverse) { return cumsum(countable(x), dim, reverse); });
  t("softmax(input, dim, dtype=None)", [](T x, N dim, OptionalDtype dtype) { return softmax(to(x, dtype), dim); });
  t("log_softmax(input, dim, dtype=None)", [](T x, N dim, OptionalDtype dtype) { return log_softmax(to(x, dtype), dim); });
  // -- products
  t("addmm baddbmm(input, mat1, mat2, beta=1, alpha=1) Addmm0", [](T x, T a, T b, D beta, D alpha) { return beta == 0 ? matmul(a, b) * alpha : x * beta + matmul(a, b) * alpha; });
  t("outer(input, vec2)", [](T a, T b) { return a.reshape({-1, 1}) * b.reshape({1, -1}); });
  t(":_einsum(equation, operands) View0", [](const std::string& equation, const std::vector<Tensor>& operands) { return einsum(equation, operands); });
  // -- joining and indexing; cat, stack and sort, and relu above, are in place of the rows of operations.def
  t(":cat concat concatenate(tensors, dim=0)", [](const std::vector<Tensor>& all, N dim) { return cat(promoted(all), dim); });
  t(":stack(tensors, dim=0)", [](const std::vector<Tensor>& all, N dim) { return stack(promoted(all), dim); });
  t(":hstack(tensors) Cat0", [](const std::vector<Tensor>& all) { return cat(promoted(all), !all.empty() && all[0].dim() > 1); });
  t(":vstack(tensors) Cat0", [](std::vector<Tensor> all) { for (Tensor& x : all) x = x.dim() > 1 ? x : x.reshape({1, -1}); return cat(promoted(all), 0); });
  t("masked_select(input, mask) MaskedSelect0", [](T x, T mask) { const Shape shape = broadcast_shapes("masked_select", x.shape(), mask.shape()); return x.expand(shape).index({mask.expand(shape)}); });
  t("roll(input, shifts, dims=()) Roll0", of<rolled>);
  t("topk(input, k, dim=-1, largest=True, sorted=True) Topk0", of<top>);
  t(":_linspace(start, end, steps)", of<float_linspace>);
  t("count_nonzero(input, dim=None)", [](T x, I dim) { return sum(truth(x), dim.values); });
  t("*index_add(input, dim, index, source, alpha=1)", [](T x, N dim, T index, T source, D alpha) { return index_add(x, dim, index, alpha == 1 ? source : source * alpha); });
  t("*scatter(input, dim, index, src) tensor:Scatter1|Scatter0", [](T x, N dim, T index, O src) { return src.tensor.defined() ? scatter(x, dim, index, src.tensor) : scatter(x, dim, index, src.number); });
  t("argsort(input, dim=-1, descending=False, stable=False)", [](T x, N dim, B descending, B) { return sort(x, dim, descending).indices; });
  t("sort(input, dim=-1, descending=False, stable=False) Sort0", [](T x, N dim, B descending, B) { return sort(x, dim, descending); });
  t("+embedding(input, weight, padding_idx=None) Embedding0", [](T index, T weight, OptionalN padding) { return embedding(weight, index, padding); });
  t("argwhere(input)", of<nonzero>);
  t("nonzero(input, as_tuple=False)", [](T x, B tuple) { return tuple ? chosen(x, {}, {}) : py::object(py::cast(nonzero(x))); });
  t("+one_hot(tensor, num_classes=-1)", of<one_hot>);
  // -- views
  t("t(input) T0", [](T x) { if (x.dim() > 2) fail("t", "needs a matrix, got ", x.dim(), " dimensions."); return x.dim() < 2 ? x : x.mT(); });
  t("@T(input)", [](T x) { std::vector<N> dims(static_cast<size_t>(x.dim())); std::iota(dims.rbegin(), dims.rend(), 0); return x.permute(dims); });
  t("@mT(input)", [](T x) { return x.mT(); });
  t(".view(input, *shape)", of<view>);
  t("broadcast_to(input, size)", [](T x, S size) { return x.expand(size); });
  t(".view_as(input, other)", [](T x, T other) { return view(x, other.shape()); });
  t(".expand_as(input, other)", [](T x, T other) { return x.expand(other.shape()); });
  t(".repeat(input, *repeats) Repeat0", of<repeated>);
  t("flip(input, *dims) Flip0", [](Tensor x, I dims) { for (const N d : dims.values) x = index_select(x, d, arange(static_cast<double>(x.size(d) - 1), -1, -1)); return x; });
  t("flatten ravel(input, start_dim=0, end_dim=-1) copy:ReshapeAlias0|UnsafeView0", [](T x, N start, N end) { return x.flatten(start, end); });
  t("squeeze(input, dim=None) dim:Squeeze0|Squeeze1", [](T x, OptionalN dim) { return dim ? x.squeeze(*dim) : x.squeeze(); });
  t("narrow(input, dim, start, length)", of<narrowed>);
  t("split(tensor, split_size_or_sections, dim=0) int:SplitWithSizes0|Split0", [](T x, I sizes, N dim) { return sizes.is_one ? x.split(sizes.values[0], dim) : x.split(sizes.values, dim); });
  t("chunk(input, chunks, dim=0) Split0", [](T x, N chunks, N dim) { return x.chunk(chunks, dim); });
  t("unbind(input, dim=0) Unbind0", of<unbind>);
  t("clone(input) Clone0", of<copied>);
  t(".detach(input)", [](T x) { return x.detach(); });
  t(".cast(input, dtype)", [](T x, DType dtype) { return x.to(dtype); });
  t(".type_as(input, other)", [](T x, T other) { return x.to(other.dtype()); });
  t(".float(input)", [](T x) { return x.to(DType::float32); });
  t(".double(input)", [](T x) { return x.to(DType::float64); });
  t(".long int short byte(input)", [](T x) { return x.to(DType::int64); });
  t(".bool(input)", [](T x) { return x.to(DType::boolean); });
  t(".bfloat16(input)", [](T x) { return x.to(DType::bfloat16); });
  t("mv(input, vec) Mv0", of<matmul>);
  t("tile(input, *dims) Repeat0", [](T x, I dims) { Ints counts = dims; while (std::ssize(counts.values) < x.dim()) counts.values.insert(counts.values.begin(), 1); return repeated(x, counts); });
  t("median(input) Median0", of<median>);
  t(":triu_indices(row, col, offset=0)", [](N rows, N columns, N offset) { return nonzero(triu(ones({rows, columns}), offset)).mT(); });
  t(":tril_indices(row, col, offset=0)", [](N rows, N columns, N offset) { return nonzero(tril(ones({rows, columns}), offset)).mT(); });
  t(":_named(input, name)", of<named>);
  t("._mark_replaced(input)", [](T x) { x.impl()->replaced = true; });
  // -- values in place; what draws, _tensor.py writes into the tensor
  t(".copy_(input, source)", [](py::handle x, T source) { write(x, source, "copy_"); return x; });
  t(".fill_(input, value)", [](py::handle x, O value) { write(x, value.tensor.defined() ? value.tensor : filled_with({}, value, tensor_of(x.ptr()).dtype()), "fill_"); return x; });
  t(".zero_(input)", [](py::handle x) { write(x, zeros({}), "zero_"); return x; });
  t("._uniform(input, a=0.0, b=1.0, generator=None)", [](T x, D a, D b, G g) { return in_order_of(x, [&](S size, bool) { return uniform(size, a, b, g, x.dtype()); }); });
  t("._normal(input, mean=0.0, std=1.0, generator=None)", [](T x, D mean, D std, G g) { return in_order_of(x, [&](S size, bool) { return normals(size, x.is_contiguous(), mean, std, g, x.dtype()); }); });
  t("._exponential(input, lambd=1.0, generator=None)", [](T x, D rate, G g) { return in_order_of(x, [&](S size, bool) { return exponential(size, g, x.dtype()); }) / rate; });
  // -- layers and losses
  t("+rotary_embedding(input, offset=0, base=10000.0)", of<static_cast<Tensor (*)(T, N, D)>(rotary_embedding)>);
  t("+cross_entropy(input, target, weight=None, ignore_index=-100, reduction='mean', label_smoothing=0.0) loss:NllLoss0|Add0|Div1", of<cross_entropy_of>);
  t("+dropout(input, p=0.5, training=True, generator=None)", [](T x, D p, B training, G g) { return training ? dropout(x, p, g) : x; });
  t("+scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False, window=0, generator=None)", of<attention>);
#ifdef GRADUS_HAS_LAYERS
  t("+batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-05) NativeBatchNorm0", of<batch_norm>);
  t("+group_norm(input, num_groups, weight=None, bias=None, eps=1e-05) NativeGroupNorm0", of<group_norm>);
  t("+unfold(input, kernel_size, dilation=1, padding=0, stride=1) Im2Col0", [](T x, I size, I dilation, I padding, I stride) { return unfold(x, each(size), {each(dilation), each(padding), each(stride)}); });
  t("+fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1) Col2Im0", [](T x, I out, I size, I dilation, I padding, I stride) { return fold(x, each(out), each(size), {each(dilation), each(padding), each(stride)}); });
#define WINDOWS(n, max, avg) \
  t("+conv" #n "d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1) Convolution0", [](T x, T weight, T bias, I stride, const Sizes& padding, I dilation, N groups) { return conv##n##d(x, weight, bias, {each(stride), padding_of(padding), each(dilation), groups}); }); \
  t("+max_pool" #n "d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False) " max, [](T x, I size, I stride, I padding, I dilation, B ceil, B indices) -> OneOrBoth { auto both = max_pool##n##d_with_indices(x, each(size), {each(stride), each(padding), each(dilation), ceil}); return indices ? OneOrBoth(both) : both.values; }); \
  t("+avg_pool" #n "d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None) " avg, [](T x, I size, I stride, I padding, B ceil, B count, OptionalN divisor) { return avg_pool##n##d(x, each(size), {each(stride), each(padding), ceil, count, divisor}); });
  WINDOWS(1, "Squeeze1", "Squeeze1")
  WINDOWS(2, "MaxPool2DWithIndices0", "AvgPool2D0")
#endif
  // -- making tensors
  t(":zeros(*size, dtype=None, device=None, requires_grad=False)", [](S size, OptionalDtype dtype, V, B grad) { return made(zeros(size, or_float(dtype)), grad); });
  t(":ones(*size, dtype=None, device=None, requires_grad=False)", [](S size, OptionalDtype dtype, V, B grad) { return made(ones(size, or_float(dtype)), grad); });
  t(":empty(*size, dtype=None, device=None, requires_grad=False)", [](S size, OptionalDtype dtype, V, B grad) { return made(empty(size, or_float(dtype)), grad); });
  t(":full(size, fill_value, dtype=None, device=None, requires_grad=False)", [](S size, O x, OptionalDtype dtype, V, B grad) { return made(filled_with(size, x, dtype.value_or(x.tensor.defined() ? x.tensor.dtype() : x.dtype)), grad); });
  t(":eye(n, m=None, dtype=None, device=None, requires_grad=False)", [](N n, OptionalN m, OptionalDtype dtype, V, B grad) { return made(raw::clone(eye(std::max(n, m.value_or(n))).slice(0, 0, n).slice(1, 0, m.value_or(n))).to(or_float(dtype)), grad); });
  t(":arange(start, end=None, step=1, dtype=None, device=None, requires_grad=False)", of<range>);
  t(":zeros_like(input, dtype=None, device=None, requires_grad=False)", [](T x, OptionalDtype dtype, V, B grad) { return made(zeros(x.shape(), or_of(dtype, x)), grad); });
  t(":ones_like(input, dtype=None, device=None, requires_grad=False)", [](T x, OptionalDtype dtype, V, B grad) { return made(ones(x.shape(), or_of(dtype, x)), grad); });
  t(":empty_like(input, dtype=None, device=None, requires_grad=False)", [](T x, OptionalDtype dtype, V, B grad) { return made(empty(x.shape(), or_of(dtype, x)), grad); });
  t(":full_like(input, fill_value, dtype=None, device=None, requires_grad=False)", [](T x, O value, OptionalDtype dtype, V, B grad) { return made(filled_with(x.shape(), value, or_of(dtype, x)), grad); });
  t(":rand_like(input, dtype=None, device=None, requires_grad=False, generator=None)", [](T x, OptionalDtype dtype, V, B grad, G g) { return made(in_order_of(x, [&](S size, bool) { return rand(size, g, or_of(dtype, x)); }), grad); });
  t(":randn_like(input, dtype=None, device=None, requires_grad=False, generator=None)", [](T x, OptionalDtype dtype, V, B grad, G g) { return made(in_order_of(x, [&](S size, bool packed) { return normals(size, packed, 0, 1, g, or_of(dtype, x)); }), grad); });
  t(".new_zeros(input, *size, dtype=None, device=None, requires_grad=False)", [](T x, S size, OptionalDtype dtype, V, B grad) { return made(zeros(size, or_of(dtype, x)), grad); });
  t(".new_ones(input, *size, dtype=None, device=None, requires_grad=False)", [](T x, S size, OptionalDtype dtype, V, B grad) { return made(ones(size, or_of(dtype, x)), grad); });
  t(".new_full(input, size, fill_value, dtype=None, device=None, requires_grad=False)", [](T x, S size, O value, OptionalDtype dtype, V, B grad) { return made(filled_with(size, value, or_of(dtype, x)), grad); });
  t(":rand(*size, generator=None, dtype=None, device=None, requires_grad=False)", [](S size, G g, OptionalDtype dtype, V, B grad) { return made(rand(size, g, or_float(dtype)), grad); });
  t(":randn(*size, generator=None, dtype=None, device=None, requires_grad=False)", [](S size, G g, OptionalDtype dtype, V, B grad) { return made(randn(size, g, or_float(dtype)), grad); });
  t(":normal(mean, std, size, generator=None, dtype=None, device=None, requires_grad=False)", [](D mean, D std, S size, G g, OptionalDtype dtype, V, B grad) { return made(normal(size, mean, std, g, or_float(dtype)), grad); });
  t(":randint(low=0, high=None, size=None, generator=None, dtype=None, device=None)", of<integers>);
  t(":randperm(n, generator=None, device=None)", [](N n, G g, V) { return randperm(n, g); });
  t("multinomial(input, num_samples, replacement=False, generator=None)", [](T p, N n, B replacement, G g) { return multinomial(p, n, g, replacement); });
  t("bernoulli(input, generator=None)", [](T p, G g) { return bernoulli(p, g); });
  // -- what a tensor is
  t("numel nelement(input)", [](T x) { return x.numel(); });
  t(".dim(input)", [](T x) { return x.dim(); });
  t(".is_contiguous(input)", [](T x) { return x.is_contiguous(); });
  t("is_floating_point(input)", [](T x) { return is_floating(x.dtype()); });
  t(".item(input)", of<item>);
  t(".size(input, dim=None)", [](T x, OptionalN dim) { return dim ? std::variant<N, Shape>(x.size(*dim)) : x.shape(); });
  t(".stride(input)", [](T x) { return py::tuple(py::cast(std::vector<N>(x.strides().begin(), x.strides().end()))); });
  t(".storage_offset(input)", [](T x) { return x.impl()->offset; });
  t(".element_size(input)", [](T x) { return element_size(x.dtype()); });
  t(".data_ptr(input)", [](T x) { return reinterpret_cast<uintptr_t>(x.raw_data()); });
  t("@shape(input)", [](T x) { return x.shape(); });
  t("@ndim(input)", [](T x) { return x.dim(); });
  t("@dtype(input)", [](T x) { return x.dtype(); });
  t("@grad_fn(input)", [](T x) { return x.requires_grad() && !x.impl()->node->is_leaf() ? std::optional(std::string(x.impl()->node->op)) : std::nullopt; });
  t("@is_leaf(input)", [](T x) { return !x.requires_grad() || x.impl()->node->is_leaf(); });
  t("@_version(input)", [](T x) { return x.impl()->storage->version(); });
  t("@requires_grad(input)", [](T x) { return x.requires_grad(); });
  t("=requires_grad(input, on)", [](py::handle x, B on) { set_requires_grad(x.ptr(), on); });
  t(".requires_grad_(input, requires_grad=True)", [](py::handle x, B on) { set_requires_grad(x.ptr(), on); return x; });
  t("@grad(input)", [](T x) { return x.grad(); });
  t("=grad(input, value)", [](T x, T grad) { grad.defined() ? Tensor(x).set_grad(grad) : Tensor(x).zero_grad(); });
  t("@data(input)", [](T x) { return x.detach(); });
  t("=data(input, value)", of<set_data>);
  t(".__getitem__(input, key) copy:|Index0", [](py::handle x, py::handle key) { return get_item(tensor_of(x.ptr()), key.ptr()); });
  t(".__setitem__(input, key, value)", [](py::handle x, py::handle key, py::handle value) { set_item(x.ptr(), key.ptr(), value.ptr()); });
}

// clang-format on

}  // namespace gradus::python
