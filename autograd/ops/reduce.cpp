// Reductions, softmax and its relatives, running sums.
#include <algorithm>
#include <cmath>
#include <limits>

#include "gradus/autograd/kernels/elementwise/rows.hpp"
#include "gradus/autograd/ops/arguments.hpp"

namespace gradus {

namespace {

using kernels::Reduce;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The input's shape and its reduced dimensions, all if none are given, with which a rule undoes a reduction.
struct Reduced {
  Reduced(std::string_view op, const Tensor& x, const Dims& given) : shape(x.shape()) {
    if (given.empty()) mask = (1U << x.dim()) - 1;
    for (const int64_t d : given) {
      const int wrapped = wrap_dim(op, d, x.dim());
      if (is_reduced(wrapped)) fail(op, "each dim may be given once, got ", Shape(given), ".");
      mask |= 1U << wrapped;
    }
  }
  bool is_reduced(int d) const { return (mask >> d & 1U) != 0; }
  Shape kept() const {
    Shape s = shape;
    for (int d = 0; d < s.size(); ++d)
      if (is_reduced(d)) s[d] = 1;
    return s;
  }
  Dims dims() const {
    Dims list;
    for (int d = 0; d < shape.size(); ++d)
      if (is_reduced(d)) list.push_back(d);
    return list;
  }
  int64_t count() const {
    int64_t n = 1;
    for (const int64_t d : dims()) n *= shape[static_cast<int>(d)];
    return n;
  }
  Shape shape;
  uint32_t mask = 0;
};

// Adds the dims and other attributes to the trace, if there is one.
template <class... More>
void trace_dims(const Reduced& r, const More&... more) {
  if (autograd::is_traced()) [[unlikely]]
    autograd::trace_attributes(Shape(r.dims()), more...);
}

Tensor extremum(OpName op, Reduce kernel, const Tensor& x, const Dims& dims, bool keepdim) {
  check_defined(op.name, x);
  const Reduced r(op.name, x, dims);
  if (r.count() == 0) fail(op.name, "needs values to choose from, got shape ", x.shape(), ".");
  const auto pull = [r, x = Saved(x)](const Tensor& gy, const Tensor& y) {
    const Tensor ties = eq(x, y.detach().reshape(r.kept())).to(gy.dtype());
    return gy.reshape(r.kept()) * (ties / sum(ties, r.dims(), /*keepdim=*/true));
  };
  trace_dims(r);
  return record(op, raw::reduce(kernel, x, r.dims(), keepdim), {{x, pull}});
}

// The largest or smallest of all. Unlike in amax, if it is NaN, the elements that are NaN share the gradient.
Tensor overall(const Tensor& x, const Tensor& y) {
  return is_floating(y.dtype()) && std::isnan(y.item()) ? mean(x.index({ne(x, x)})) : y;
}

// The values at `index`, which kept its dim of size 1.
ValuesAndIndices at(const Tensor& x, const Tensor& index, int64_t dim, bool keepdim) {
  const Tensor values = gather(x, dim, index);
  return keepdim ? ValuesAndIndices{values, index}
                 : ValuesAndIndices{values.squeeze(dim), index.squeeze(dim)};
}

// A loop of SoftmaxLoops, which choose(loops) gives, on packed rows along `dim` of equally shaped inputs.
template <class Choose, class... Others>
Tensor by_rows(std::string_view op, int dim, Choose choose, const Tensor& first, const Others&... others) {
  const bool last = dim >= first.dim() - 1;
  const auto rows_of = [&](const Tensor& t) {
    return raw::contiguous(last ? t.detach() : t.detach().transpose(dim, -1));
  };
  const Tensor x = rows_of(first);
  Tensor out = empty(x.shape(), x.dtype());
  const int64_t cols = x.dim() == 0 ? 1 : x.shape().back(), rows = cols == 0 ? 0 : x.numel() / cols;
  dispatch_float(op, x.dtype(), [&]<class T>() {
    kernels::loop_over_rows(rows, cols, choose(kernels::isa_loops<kernels::SoftmaxLoops<T>>()),
                            out.mutable_data<T>(), x.data<T>(), rows_of(others).template data<T>()...);
  });
  return last ? out : raw::contiguous(out.transpose(dim, -1));
}

// softmax(x) over dims, given y = logsumexp(x) with these dims of size 1. Far from 0 y is rounded coarsely,
// so it serves only as a shift that is divided out again. A slice that holds only -inf, where y is -inf, gets
// no shift and gives zeros.
Tensor slice_softmax(const Tensor& x, const Tensor& y, const Dims& dims) {
  const Tensor shift = masked_fill(y, eq(y, -kInfinity), 0.0);
  const Tensor p = exp(x - shift);
  const Tensor total = sum(p, dims, /*keepdim=*/true);
  return p / where(gt(total, 0.0), total, ones({}, total.dtype()));
}

// (sum |x|^p)^(1/p) over dims. Where powers overflow or vanish, x is divided by its largest element first,
// for p < 0 by its smallest.
Tensor norm_of(const Tensor& x, double p, const Dims& dims, bool keepdim) {
  if (p == 0) return sum(ne(x, 0.0).to(x.dtype()), dims, keepdim);
  const auto power = [&](const Tensor& v) { return sum(p == 2 ? v * v : pow(abs(v), p), dims, keepdim); };
  const auto root = [p](const Tensor& total) { return p == 2 ? sqrt(total) : pow(total, 1 / p); };
  const Tensor total = power(x);
  if (x.numel() == 0 || total.numel() == 0) return root(total);
  const bool is_float = x.dtype() == DType::float32;
  const double least = is_float ? 0x1p-103 : 0x1p-970;  // the least normal number over epsilon
  const double most = is_float ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
  if (amin(total).item() > least && amax(total).item() <= most) return root(total);
  const Tensor size = abs(x), unit = p > 0 ? amax(size, dims, true) : amin(size, dims, true);
  const Tensor scale = masked_fill(masked_fill(unit, eq(unit, 0.0), 1.0), ge(unit, kInfinity), 1.0);
  const Tensor result = root(power(x / scale));
  return result * scale.reshape(result.shape());
}

// x moved by one along dim, up or down; the free element is 0.
Tensor shifted(const Tensor& x, int dim, bool up) {
  const int64_t n = x.shape()[dim], kept = std::max<int64_t>(n - 1, 0);
  return up ? pad(x.slice(dim, 0, kept), dim, n, n - kept) : pad(x.slice(dim, n - kept, n), dim, n, 0);
}

// gb is the recurrence in the other direction with the next factor: gb_t = a_(t+1) gb_(t+1) + gh_t. And ga_t
// = gb_t * h_(t-1).
std::vector<Tensor> composed_gradients(const Tensor& gh, const Tensor& a, const Tensor& h, int dim,
                                       bool reverse) {
  const Tensor gb = linear_recurrence(shifted(a, dim, reverse), gh, dim, !reverse);
  return {gb * shifted(h, dim, !reverse), gb};
}

}  // namespace

Tensor sum(const Tensor& x, const Dims& dims, bool keepdim) {
  check_defined("sum", x);
  if (x.dtype() == DType::boolean) return sum(x.to(DType::int64), dims, keepdim);
  const Reduced r("sum", x, dims);
  trace_dims(r);
  return record("sum", raw::reduce(Reduce::sum, x, r.dims(), keepdim),
                {{x, [r](const Tensor& gy) { return gy.reshape(r.kept()).expand(r.shape); }}});
}

Tensor mean(const Tensor& x, const Dims& dims, bool keepdim) {
  check_floating("mean", x);
  const int64_t count = Reduced("mean", x, dims).count();
  return mean_of(sum(x, dims, keepdim), count);
}

Tensor var(const Tensor& x, const Dims& dims, int64_t correction, bool keepdim) {
  check_floating("var", x);
  const Reduced r("var", x, dims);
  const auto divisor = static_cast<double>(r.count() - correction);
  const Tensor deviation = centred(x.detach(), dims);
  Tensor y = sum(deviation * deviation, dims, keepdim) / std::max(divisor, 0.0);
  const auto pull = [x = Saved(x), r, divisor](const Tensor& gy) {
    return gy.reshape(r.kept()) * (2.0 / divisor) * centred(x, r.dims());
  };
  trace_dims(r, correction);
  return record("var", std::move(y), {{x, pull}});
}

Tensor stddev(const Tensor& x, const Dims& dims, int64_t correction, bool keepdim) {
  check_floating("stddev", x);
  const auto divisor = static_cast<double>(Reduced("stddev", x, dims).count() - correction);
  return norm(centred(x, dims), 2, dims, keepdim) / std::sqrt(std::max(divisor, 0.0));
}

Tensor amax(const Tensor& x, const Dims& dims, bool keepdim) {
  return extremum("amax", Reduce::max, x, dims, keepdim);
}
Tensor amin(const Tensor& x, const Dims& dims, bool keepdim) {
  return extremum("amin", Reduce::min, x, dims, keepdim);
}

Tensor max(const Tensor& x) { return overall(x, amax(check_defined("max", x))); }
Tensor min(const Tensor& x) { return overall(x, amin(check_defined("min", x))); }
ValuesAndIndices max(const Tensor& x, int64_t dim, bool keepdim) {
  return at(x, argmax(check_defined("max", x), dim, true), dim, keepdim);
}
ValuesAndIndices min(const Tensor& x, int64_t dim, bool keepdim) {
  return at(x, argmin(check_defined("min", x), dim, true), dim, keepdim);
}

Tensor softmax(const Tensor& x, int64_t dim) {
  check_floating("softmax", x);
  const int d = wrap_dim("softmax", dim, x.dim());
  const auto pull = [d](const Tensor& gy, const Tensor& y) {
    if (!grad_enabled())
      return by_rows(
          "softmax", d, [](const auto& loops) { return loops.softmax_grad; }, gy, y);
    const Tensor p = gy * y;
    return p - y * sum(p, {d}, /*keepdim=*/true);
  };
  Tensor y = by_rows(
      "softmax", d, [](const auto& loops) { return loops.softmax; }, x);
  autograd::trace_attributes(d);
  return record("softmax", std::move(y), {{x, pull}});
}

Tensor safe_softmax(const Tensor& x, int64_t dim) {
  check_floating("safe_softmax", x);
  const int d = wrap_dim("safe_softmax", dim, x.dim());
  if (x.numel() == 0) return softmax(x, d);
  const Tensor hidden = eq(amax(x.detach(), {d}, /*keepdim=*/true), -kInfinity);
  return masked_fill(softmax(masked_fill(x, hidden, 0.0), d), hidden, 0.0);
}

Tensor log_softmax(const Tensor& x, int64_t dim) {
  check_floating("log_softmax", x);
  const int d = wrap_dim("log_softmax", dim, x.dim());
  const auto pull = [d](const Tensor& gy, const Tensor& y) {
    if (!grad_enabled())
      return by_rows(
          "log_softmax", d, [](const auto& loops) { return loops.log_softmax_grad; }, gy, y);
    return gy - exp(y) * sum(gy, {d}, /*keepdim=*/true);
  };
  Tensor y = by_rows(
      "log_softmax", d, [](const auto& loops) { return loops.log_softmax; }, x);
  autograd::trace_attributes(d);
  return record("log_softmax", std::move(y), {{x, pull}});
}

Tensor logsumexp(const Tensor& x, const Dims& dims, bool keepdim) {
  check_floating("logsumexp", x);
  const Reduced r("logsumexp", x, dims);
  // The reduced dimensions become the last ones, and then one packed row.
  Dims order;
  Shape squeezed;
  for (int d = 0; d < x.dim(); ++d)
    if (!r.is_reduced(d)) {
      order.push_back(d);
      squeezed.push_back(x.shape()[d]);
    }
  for (const int64_t d : r.dims()) order.push_back(d);
  const Tensor rows = raw::contiguous(x.detach().permute(order));
  Tensor out = empty(keepdim ? r.kept() : squeezed, x.dtype());
  dispatch_float("logsumexp", x.dtype(), [&]<class T>() {
    const int64_t n = out.numel();
    kernels::logsumexp(n, n == 0 ? 0 : rows.numel() / n, out.mutable_data<T>(), rows.data<T>());
  });
  const auto pull = [x = Saved(x), r](const Tensor& gy, const Tensor& y) {
    return gy.reshape(r.kept()) * slice_softmax(x, y.detach().reshape(r.kept()), r.dims());
  };
  trace_dims(r);
  return record("logsumexp", std::move(out), {{x, pull}});
}

Tensor norm(const Tensor& x, double p, const Dims& dims, bool keepdim) {
  check_floating("norm", x);
  if (p == kInfinity) return amax(abs(x), dims, keepdim);
  if (p == -kInfinity) return amin(abs(x), dims, keepdim);
  const Reduced r("norm", x, dims);
  const auto pull = [x = Saved(x), r, p](const Tensor& gy, const Tensor& y) {
    if (p == 0) return zeros(r.shape, gy.dtype());
    const Tensor g = gy.reshape(r.kept()), whole = y.reshape(r.kept()), none = eq(whole, 0.0);
    const Tensor divisor = masked_fill(whole, none, 1.0);
    if (p == 2) return g * masked_fill(*x / divisor, none, 0.0);
    // (|x| / norm)^(p - 1), by roots, whose quotient does not vanish.
    const Tensor zero = eq(x, 0.0), size = masked_fill(abs(x), zero, 1.0);
    const Tensor slope = sign(x) * pow(sqrt(size) / sqrt(divisor), 2 * (p - 1));
    return g * masked_fill(masked_fill(slope, zero, 0.0), none, 0.0);
  };
  Tensor y = norm_of(x.detach(), p, dims, keepdim);
  trace_dims(r, p);
  return record("norm", std::move(y), {{x, pull}});
}

Tensor cumsum(const Tensor& x, int64_t dim, bool reverse) {
  check_defined("cumsum", x);
  dim = wrap_dim("cumsum", dim, x.dim());
  const Tensor packed = raw::contiguous(x);
  const Sides sides(x.shape(), static_cast<int>(dim));
  Tensor out = empty(x.shape(), x.dtype());
  dispatch_number("cumsum", x.dtype(), [&]<class T>() {
    kernels::cumsum(sides.outer, sides.size, sides.inner, out.mutable_data<T>(), packed.data<T>(), reverse);
  });
  autograd::trace_attributes(dim, reverse);
  return record("cumsum", std::move(out),
                {{x, [dim, reverse](const Tensor& gy) { return cumsum(gy, dim, !reverse); }}});
}

Tensor linear_recurrence(const Tensor& a, const Tensor& b, int64_t dim, bool reverse) {
  check_same_dtype("linear_recurrence", a, b);
  check_floating("linear_recurrence", a);
  if (a.shape() != b.shape() || a.dim() == 0)
    fail("linear_recurrence", "a and b must be of one shape of at least one dimension, got ", a.shape(),
         " and ", b.shape(), ".");
  const int d = wrap_dim("linear_recurrence", dim, a.dim());
  const Sides sides(a.shape(), d);
  const Tensor as = raw::contiguous(a), bs = raw::contiguous(b);
  Tensor out = empty(a.shape(), a.dtype());
  dispatch_float("linear_recurrence", a.dtype(), [&]<class T>() {
    kernels::linear_recurrence(sides.outer, sides.size, sides.inner, out.mutable_data<T>(), as.data<T>(),
                               bs.data<T>(), reverse);
  });
  auto pull = [a = Saved(a), sides, d, reverse](const Tensor& gh, const Tensor& h, Needs needs) {
    if (grad_enabled()) return composed_gradients(gh, a, h, d, reverse);
    const Tensor upstream = raw::contiguous(gh), factors = raw::contiguous(a);
    Tensor ga = needs[0] ? empty(h.shape(), h.dtype()) : Tensor(), gb = empty(h.shape(), h.dtype());
    dispatch_float("linear_recurrence", h.dtype(), [&]<class T>() {
      kernels::linear_recurrence_grad(sides.outer, sides.size, sides.inner, raw::data_or_null<T>(ga),
                                      gb.mutable_data<T>(), upstream.data<T>(), factors.data<T>(),
                                      h.data<T>(), reverse);
    });
    return std::vector<Tensor>{ga, gb};
  };
  autograd::trace_attributes(d, reverse);
  return record("linear_recurrence", std::move(out), {a, b}, std::move(pull));
}

}  // namespace gradus
