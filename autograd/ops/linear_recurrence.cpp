#include "gradus/autograd/kernels/rows/linear_recurrence.hpp"

#include "gradus/autograd/ops/arguments.hpp"

namespace gradus {
namespace {

// x moved by one along dim, up or down; the free element is 0.
Tensor shifted(const Tensor& x, int dim, bool up) {
  const int64_t n = x.shape()[dim], kept = std::max<int64_t>(n - 1, 0);
  return up ? pad(x.slice(dim, 0, kept), dim, n, n - kept) : pad(x.slice(dim, n - kept, n), dim, n, 0);
}

// gb is the recurrence that runs the other way, by the factor of the step that follows: gb_t = a_(t+1)
// gb_(t+1) + gh_t, and ga_t = gb_t * h_(t-1).
std::vector<Tensor> composed_gradients(const Tensor& gh, const Tensor& a, const Tensor& h, int dim,
                                       bool reverse) {
  const Tensor gb = linear_recurrence(shifted(a, dim, reverse), gh, dim, !reverse);
  return {gb * shifted(h, dim, !reverse), gb};
}

}  // namespace

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
  return record("linear_recurrence", out, {a, b}, std::move(pull));
}

}  // namespace gradus
