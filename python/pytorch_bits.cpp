// What has PyTorch's very bits: the rounding of arange() and linspace(), small sums, the order of equal
// values in topk(), and the order in which random numbers are drawn.
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "gradus/autograd/tensor/raw.hpp"
#include "gradus/python/operation.hpp"

namespace gradus::python {
namespace {

using namespace arguments;

// The number of an operand, which may be a tensor of one element.
Operand number_of(O x) {
  if (!x.tensor.defined()) return x;
  return {{}, x.tensor.item(), is_floating(x.tensor.dtype()) ? DType::float32 : DType::int64};
}

// PyTorch computes vectors of eight elements as next(first, number in the vector) of their first element.
template <class Next>
Tensor by_eights(Tensor y, const Next& next) {
  float* const value = y.mutable_data<float>();
  for (N i = 0; i < y.numel() / 16 * 16; ++i)
    if (const N k = i % 8; k != 0) value[i] = next(value[i - k], static_cast<float>(k));
  return y;
}

Tensor range(O from, const std::optional<Operand>& to, O by, OptionalDtype dtype, V, B grad) {
  const Operand start = number_of(to ? from : Operand{{}, 0, DType::int64}), end = number_of(to ? *to : from);
  const Operand step = number_of(by);
  const bool is_whole = start.is_whole() && end.is_whole() && step.is_whole();
  const Tensor y =
      arange(start.number, end.number, step.number, dtype.value_or(is_whole ? DType::int64 : DType::float32));
  if (y.dtype() != DType::float32) return leaf(y, grad);
  const auto next = [&](float first, float k) { return static_cast<float>(double{first} + k * step.number); };
  return leaf(by_eights(y, next), grad);
}

// Each half from its own end.
Tensor float_linspace(D from, D to, N steps) {
  const auto start = static_cast<float>(from), end = static_cast<float>(to);
  const float step = (end - start) / static_cast<float>(std::max<N>(steps - 1, 1));
  Tensor y = empty({steps});
  float* const value = y.mutable_data<float>();
  for (N i = 0; i < steps; ++i)
    value[i] = i < std::max<N>(steps / 2, 1) ? std::fma(step, static_cast<float>(i), start)
                                             : std::fma(-step, static_cast<float>(steps - 1 - i), end);
  return by_eights(y, [&](float first, float k) { return first + k * step; });
}

// at(0) + ... + at(count - 1), in groups of 16 or more, which are added in groups again.
template <class E, class At>
E in_levels(N count, const At& at) {
  const int bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(std::max<N>(count, 1) - 1)));
  const int power = std::max(4, bits / 4);
  const N size = N{1} << power;
  E levels[4] = {};
  N i = 0;
  while (i + size <= count) {
    for (const N end = i + size; i < end; ++i) levels[0] += at(i);
    for (int j = 1; j < 4; ++j) {
      levels[j] += std::exchange(levels[j - 1], E{0});
      if ((i & ((size - 1) << (j * power))) != 0) break;
    }
  }
  for (; i < count; ++i) levels[0] += at(i);
  return levels[0] + levels[1] + levels[2] + levels[3];
}
// The same in four sums, of which each takes every fourth.
template <class E, class At>
E in_four(N count, const At& at) {
  E parts[4];
  for (N k = 0; k < 4; ++k) parts[k] = in_levels<E>(count / 4, [&](N i) { return at(4 * i + k); });
  for (N i = count / 4 * 4; i < count; ++i) parts[0] += at(i);
  return parts[0] + parts[1] + parts[2] + parts[3];
}

// Replaces y, the sums or means of a small packed x over its first or its last dims, by those that PyTorch
// computes in vectors of 32 bytes.
Tensor with_order(Tensor y, T x, I dims, B is_mean) {
  constexpr N kMost = 8192;
  if (x.numel() > kMost || x.numel() < 2 || !x.is_contiguous() || y.impl()->storage == x.impl()->storage ||
      (x.dtype() != DType::float32 && x.dtype() != DType::float64))
    return y;
  unsigned which = dims.values.empty() ? (1U << x.dim()) - 1 : 0;  // a bit for each dim
  for (const N d : dims.values) which |= 1U << (d < 0 ? d + x.dim() : d);
  const unsigned first = (1U << std::popcount(which)) - 1;
  const bool is_last = which == first << (x.dim() - std::popcount(which));
  if (!is_last && which != first) return y;
  const N columns = y.numel(), count = x.numel() / columns;
  dispatch_float("sum", x.dtype(), [&]<class E>() {
    constexpr N kLanes = 32 / sizeof(E);
    const E* const from = x.data<E>();
    E* const to = y.detach().mutable_data<E>();
    const auto of_row = [count](const E* row) {
      if (count < kLanes) return in_four<E>(count, [row](N i) { return row[i]; });
      E total = 0;
      for (N i = count / kLanes * kLanes; i < count; ++i) total += row[i];
      for (N lane = 0; lane < kLanes; ++lane)
        total += in_four<E>(count / kLanes, [=](N i) { return row[i * kLanes + lane]; });
      return total;
    };
    const N block = columns < kLanes ? 4 : 4 * kLanes;
    for (N c = 0; c < columns; ++c) {
      const auto at = [=](N i) { return from[i * columns + c]; };
      const E total = is_last                       ? of_row(from + c * count)
                      : c < columns / block * block ? in_levels<E>(count, at)
                                                    : in_four<E>(count, at);
      to[c] = is_mean ? total / static_cast<E>(count) : total;
    }
  });
  return y;
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
  dispatch_number("topk", x.dtype(), [&]<class E>() {
    const E* row = rows.data<E>();
    const auto before = [&](N i, N j) {
      const E a = row[i], b = row[j];
      return largest ? (a != a && b == b) || a > b : (a == a && b != b) || a < b;
    };
    std::vector<N> all(static_cast<size_t>(n));
    const auto last = all.begin() + k;
    for (N *place = places.mutable_data<N>(), left = places.numel(); left > 0; left -= k, row += n) {
      std::iota(all.begin(), all.end(), 0);
      if (k * 64 <= n) {
        std::partial_sort(all.begin(), last, all.end(), before);
      } else {
        std::nth_element(all.begin(), last - 1, all.end(), before);
        if (is_sorted) std::sort(all.begin(), last - 1, before);
      }
      place = std::copy(all.begin(), last, place);
    }
  });
  places = places.transpose(dim, -1).contiguous();
  return {gather(x, dim, places), places};
}

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

// randint(low, high, size), randint(high, size), randint(high, size=size)
Tensor integers(N low, I high, const std::optional<Ints>& size, G g, OptionalDtype dtype, V) {
  const Tensor y = high.is_one ? randint(low, high.values[0], Shape(size.value_or(Ints{}).values), g)
                               : randint(0, low, Shape(size.value_or(high).values), g);
  return y.to(dtype.value_or(DType::int64));
}

}  // namespace

// A row is a line; a long one continues in the next.
// clang-format off

void add_pytorch_bits(Table& t) {
  t("sum(input, dim=None, keepdim=False, dtype=None) dim:Sum0|Sum1", [](T x, I dim, B keep, OptionalDtype dtype) { const Tensor of = dtype ? x.to(*dtype) : x.dtype() == DType::boolean ? x.to(DType::int64) : x; return with_order(sum(of, dim.values, keep), of, dim, false); });
  t("mean(input, dim=None, keepdim=False, dtype=None) dim:Mean0|Mean1", [](T x, I dim, B keep, OptionalDtype dtype) { const Tensor of = dtype ? x.to(*dtype) : x; return with_order(mean(of, dim.values, keep), of, dim, true); });
  t("topk(input, k, dim=-1, largest=True, sorted=True) Topk0", of<top>);
  t(":_linspace(start, end, steps)", of<float_linspace>);
  t("._uniform(input, a=0.0, b=1.0, generator=None)", [](T x, D a, D b, G g) { return in_order_of(x, [&](S size, bool) { return uniform(size, a, b, g, x.dtype()); }); });
  t("._normal(input, mean=0.0, std=1.0, generator=None)", [](T x, D mean, D std, G g) { return in_order_of(x, [&](S size, bool) { return normals(size, x.is_contiguous(), mean, std, g, x.dtype()); }); });
  t("._exponential(input, lambd=1.0, generator=None)", [](T x, D rate, G g) { return in_order_of(x, [&](S size, bool) { return exponential(size, g, x.dtype()); }) / rate; });
  t(":arange(start, end=None, step=1, dtype=None, device=None, requires_grad=False)", of<range>);
  t(":rand_like(input, dtype=None, device=None, requires_grad=False, generator=None)",
    [](T x, OptionalDtype dtype, V, B grad, G g) { return leaf(in_order_of(x, [&](S size, bool) { return rand(size, g, or_of(dtype, x)); }), grad); });
  t(":randn_like(input, dtype=None, device=None, requires_grad=False, generator=None)",
    [](T x, OptionalDtype dtype, V, B grad, G g) { return leaf(in_order_of(x, [&](S size, bool packed) { return normals(size, packed, 0, 1, g, or_of(dtype, x)); }), grad); });
  t(":rand(*size, generator=None, dtype=None, device=None, requires_grad=False)", [](S size, G g, OptionalDtype dtype, V, B grad) { return leaf(rand(size, g, dtype.value_or(DType::float32)), grad); });
  t(":randn(*size, generator=None, dtype=None, device=None, requires_grad=False)", [](S size, G g, OptionalDtype dtype, V, B grad) { return leaf(randn(size, g, dtype.value_or(DType::float32)), grad); });
  t(":normal(mean, std, size, generator=None, dtype=None, device=None, requires_grad=False)",
    [](D mean, D std, S size, G g, OptionalDtype dtype, V, B grad) { return leaf(normal(size, mean, std, g, dtype.value_or(DType::float32)), grad); });
  t(":randint(low=0, high=None, size=None, generator=None, dtype=None, device=None)", of<integers>);
  t(":randperm(n, generator=None, device=None)", [](N n, G g, V) { return randperm(n, g); });
  t("multinomial(input, num_samples, replacement=False, generator=None)", [](T p, N n, B replacement, G g) { return multinomial(p, n, g, replacement); });
  t("bernoulli(input, generator=None)", [](T p, G g) { return bernoulli(p, g); });
}

// clang-format on

}  // namespace gradus::python
