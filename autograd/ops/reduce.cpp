#include <algorithm>

#include "gradus/autograd/ops.hpp"
#include "gradus/autograd/ops/check.hpp"
#include "gradus/autograd/ops/rows.hpp"
#include "gradus/autograd/raw.hpp"
#include "gradus/autograd/record.hpp"

namespace gradus {
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

// What a rule needs to undo a reduction: the input's shape, and which of its dimensions went away.
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
  check_floating(op.name, x);
  const Dims wrapped = wrap_dims(op.name, dims, x.dim());
  for (const int64_t d : wrapped)
    if (x.shape()[static_cast<int>(d)] == 0)
      fail(op.name, "needs values to choose from, got shape ", x.shape(), ".");
  const Reduced r(x, wrapped);
  return record(op, raw::reduce(kernel, x, wrapped, keepdim),
                {{x, [r, x = Saved(x)](const Tensor& gy, const Tensor& y) {
                    const Tensor ties = eq(x, y.detach().reshape(r.kept())).to(gy.dtype());
                    return gy.reshape(r.kept()) * (ties / sum(ties, r.dims(), /*keepdim=*/true));
                  }}});
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
  return sum(x, dims, keepdim) / static_cast<double>(count);
}

Tensor var(const Tensor& x, const Dims& dims, int64_t correction, bool keepdim) {
  check_floating("var", x);
  int64_t count = 1;
  for (const int64_t d : wrap_dims("var", dims, x.dim())) count *= x.shape()[static_cast<int>(d)];
  const Tensor deviation = x - mean(x, dims, /*keepdim=*/true);
  return sum(deviation * deviation, dims, keepdim) /
         static_cast<double>(std::max<int64_t>(count - correction, 0));
}

Tensor amax(const Tensor& x, const Dims& dims, bool keepdim) {
  return extremum("amax", Reduce::max, x, dims, keepdim);
}
Tensor amin(const Tensor& x, const Dims& dims, bool keepdim) {
  return extremum("amin", Reduce::min, x, dims, keepdim);
}

Tensor cumsum(const Tensor& x, int64_t dim, bool reverse) {
  check_floating("cumsum", x);
  dim = wrap_dim("cumsum", dim, x.dim());
  const Tensor packed = raw::contiguous(x);
  const Sides sides(x.shape(), static_cast<int>(dim));
  Tensor out = empty(x.shape(), x.dtype());
  dispatch_float("cumsum", x.dtype(), [&]<class T>() {
    kernels::cumsum(sides.outer, sides.size, sides.inner, out.mutable_data<T>(), packed.data<T>(), reverse);
  });
  return record("cumsum", out, {{x, [dim, reverse](const Tensor& gy) { return cumsum(gy, dim, !reverse); }}});
}

}  // namespace gradus
