#include <algorithm>
#include <cmath>

#include "gradus/autograd/ops/arguments.hpp"

namespace gradus {

using autograd::Extreme;

namespace {

using kernels::Reduce;

// Non-negative and without repeats; all of them if none are given.
Dims wrap_dims(std::string_view op, const Dims& dims, int n) {
  Dims wrapped;
  if (dims.empty())
    for (int d = 0; d < n; ++d) wrapped.push_back(d);
  bool seen[kMaxDims] = {};
  for (const int64_t d : dims) {
    const int w = wrap_dim(op, d, n);
    if (seen[w]) fail(op, "each dim may be given once, got ", Shape(dims), ".");
    seen[w] = true;
    if (n > 0) wrapped.push_back(w);
  }
  return wrapped;
}

// The input's shape and its reduced dimensions, with which a rule undoes a reduction.
struct Reduced {
  Reduced(const Tensor& x, const Dims& dims) : shape(x.shape()) {
    for (const int64_t d : dims) mask |= 1U << d;
  }
  Shape kept() const {
    Shape s = shape;
    for (int d = 0; d < s.size(); ++d)
      if (mask >> d & 1U) s[d] = 1;
    return s;
  }
  Dims dims() const {
    Dims list;
    for (int d = 0; d < shape.size(); ++d)
      if (mask >> d & 1U) list.push_back(d);
    return list;
  }
  Shape shape;
  uint32_t mask = 0;
};

Tensor extremum(OpName op, Reduce kernel, const Tensor& x, const Dims& dims, bool keepdim) {
  check_defined(op.name, x);
  const Dims wrapped = wrap_dims(op.name, dims, x.dim());
  for (const int64_t d : wrapped)
    if (x.shape()[static_cast<int>(d)] == 0)
      fail(op.name, "needs values to choose from, got shape ", x.shape(), ".");
  const Reduced r(x, wrapped);
  const auto pull = [r, x = Saved(x)](const Tensor& gy, const Tensor& y) {
    const Tensor ties = eq(x, y.detach().reshape(r.kept())).to(gy.dtype());
    return gy.reshape(r.kept()) * (ties / sum(ties, r.dims(), /*keepdim=*/true));
  };
  return record(op, raw::reduce(kernel, x, wrapped, keepdim), {{x, pull}});
}

// The largest or smallest of all. Unlike in amax, if it is NaN, the elements that are NaN share the gradient.
Tensor overall(const Tensor& x, const Tensor& y) {
  return is_floating(y.dtype()) && std::isnan(y.item()) ? mean(x.index({ne(x, x)})) : y;
}

// The values at `index`, which kept its dim of size 1.
Extreme at(const Tensor& x, const Tensor& index, int64_t dim, bool keepdim) {
  const Tensor values = gather(x, dim, index);
  return keepdim ? Extreme{values, index} : Extreme{values.squeeze(dim), index.squeeze(dim)};
}

}  // namespace

Tensor sum(const Tensor& x, const Dims& dims, bool keepdim) {
  check_defined("sum", x);
  const Dims wrapped = wrap_dims("sum", dims, x.dim());
  const Reduced r(x, wrapped);
  return record("sum", raw::reduce(Reduce::sum, x, wrapped, keepdim),
                {{x, [r](const Tensor& gy) { return gy.reshape(r.kept()).expand(r.shape); }}});
}

Tensor mean(const Tensor& x, const Dims& dims, bool keepdim) {
  check_floating("mean", x);
  const Reduced r(x, wrap_dims("mean", dims, x.dim()));
  int64_t count = 1;
  for (const int64_t d : r.dims()) count *= r.shape[static_cast<int>(d)];
  return mean_of(sum(x, dims, keepdim), count);
}

Tensor var(const Tensor& x, const Dims& dims, int64_t correction, bool keepdim) {
  check_floating("var", x);
  const Reduced r(x, wrap_dims("var", dims, x.dim()));
  int64_t count = 1;
  for (const int64_t d : r.dims()) count *= r.shape[static_cast<int>(d)];
  const auto divisor = static_cast<double>(count - correction);
  const Tensor deviation = centred(x.detach(), dims);
  const Tensor y = sum(deviation * deviation, dims, keepdim) / std::max(divisor, 0.0);
  const auto pull = [x = Saved(x), r, divisor](const Tensor& gy) {
    return gy.reshape(r.kept()) * (2.0 / divisor) * centred(x, r.dims());
  };
  return record("var", y, {{x, pull}});
}

Tensor stddev(const Tensor& x, const Dims& dims, int64_t correction, bool keepdim) {
  const Tensor square = var(x, dims, correction, keepdim);
  const Tensor constant = eq(square, 0.0);  // where the root has no slope
  return masked_fill(sqrt(masked_fill(square, constant, 1.0)), constant, 0.0);
}

Tensor amax(const Tensor& x, const Dims& dims, bool keepdim) {
  return extremum("amax", Reduce::max, x, dims, keepdim);
}
Tensor amin(const Tensor& x, const Dims& dims, bool keepdim) {
  return extremum("amin", Reduce::min, x, dims, keepdim);
}

Tensor max(const Tensor& x) { return overall(x, amax(x)); }
Tensor min(const Tensor& x) { return overall(x, amin(x)); }
Extreme max(const Tensor& x, int64_t dim, bool keepdim) { return at(x, argmax(x, dim, true), dim, keepdim); }
Extreme min(const Tensor& x, int64_t dim, bool keepdim) { return at(x, argmin(x, dim, true), dim, keepdim); }

Tensor cumsum(const Tensor& x, int64_t dim, bool reverse) {
  check_defined("cumsum", x);
  dim = wrap_dim("cumsum", dim, x.dim());
  const Tensor packed = raw::contiguous(x);
  const Sides sides(x.shape(), static_cast<int>(dim));
  Tensor out = empty(x.shape(), x.dtype());
  dispatch_number("cumsum", x.dtype(), [&]<class T>() {
    kernels::cumsum(sides.outer, sides.size, sides.inner, out.mutable_data<T>(), packed.data<T>(), reverse);
  });
  return record("cumsum", out, {{x, [dim, reverse](const Tensor& gy) { return cumsum(gy, dim, !reverse); }}});
}

}  // namespace gradus
