#include "gradus/autograd/kernels/rows/softmax.hpp"

#include <algorithm>
#include <limits>

#include "gradus/autograd/ops/arguments.hpp"

namespace gradus {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// kernel(rows, cols, out, inputs...) on packed rows along `dim` of equally shaped inputs.
template <class Kernel, class... Others>
Tensor by_rows(std::string_view op, int dim, Kernel kernel, const Tensor& first, const Others&... others) {
  const bool last = dim >= first.dim() - 1;
  const auto rows_of = [&](const Tensor& t) {
    return raw::contiguous(last ? t.detach() : t.detach().transpose(dim, -1));
  };
  const Tensor x = rows_of(first);
  Tensor out = empty(x.shape(), x.dtype());
  const int64_t cols = x.dim() == 0 ? 1 : x.shape().back(), rows = cols == 0 ? 0 : x.numel() / cols;
  dispatch_float(op, x.dtype(), [&]<class T>() {
    kernel(rows, cols, out.mutable_data<T>(), x.data<T>(), rows_of(others).template data<T>()...);
  });
  return last ? out : raw::contiguous(out.transpose(dim, -1));
}

}  // namespace

Tensor softmax(const Tensor& x, int64_t dim) {
  check_floating("softmax", x);
  const int d = wrap_dim("softmax", dim, x.dim());
  const auto pull = [d](const Tensor& gy, const Tensor& y) {
    if (!grad_enabled())
      return by_rows(
          "softmax", d, [](auto... in) { kernels::softmax_grad(in...); }, gy, y);
    const Tensor p = gy * y;
    return p - y * sum(p, {d}, /*keepdim=*/true);
  };
  const Tensor y = by_rows(
      "softmax", d, [](auto... in) { kernels::softmax(in...); }, x);
  return record("softmax", y, {{x, pull}});
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
          "log_softmax", d, [](auto... in) { kernels::log_softmax_grad(in...); }, gy, y);
    return gy - exp(y) * sum(gy, {d}, /*keepdim=*/true);
  };
  const Tensor y = by_rows(
      "log_softmax", d, [](auto... in) { kernels::log_softmax(in...); }, x);
  return record("log_softmax", y, {{x, pull}});
}

// softmax(x) over the dimensions that are of size 1 in y = logsumexp(x). Far from 0 y is rounded coarsely, so
// it serves only as a shift that is divided out again. A slice of -inf only, where y is -inf, gets no
// shift and gives zeros.
static Tensor slice_softmax(const Tensor& x, const Tensor& y) {
  const Tensor shift = masked_fill(y, eq(y, -kInfinity), 0.0);
  const Tensor p = exp(x - shift);
  Dims dims;
  for (int d = 0; d < y.dim(); ++d)
    if (y.shape()[d] == 1) dims.push_back(d);
  const Tensor total = sum(p, dims, /*keepdim=*/true);
  return p / where(gt(total, 0.0), total, ones({}, total.dtype()));
}

Tensor logsumexp(const Tensor& x, const Dims& dims, bool keepdim) {
  check_floating("logsumexp", x);
  // The reduced dimensions go last, in one packed row.
  bool reduced[kMaxDims] = {};
  for (const int64_t d : dims) {
    bool& is_reduced = reduced[wrap_dim("logsumexp", d, x.dim())];
    if (is_reduced) fail("logsumexp", "each dim may be given once, got ", Shape(dims), ".");
    is_reduced = true;
  }
  if (dims.empty()) std::fill(reduced, reduced + kMaxDims, true);
  std::vector<int64_t> order;
  Shape kept, squeezed;
  for (int d = 0; d < x.dim(); ++d) {
    if (!reduced[d]) order.push_back(d);
    if (!reduced[d]) squeezed.push_back(x.shape()[d]);
    kept.push_back(reduced[d] ? 1 : x.shape()[d]);
  }
  for (int d = 0; d < x.dim(); ++d)
    if (reduced[d]) order.push_back(d);
  const Tensor rows = raw::contiguous(x.detach().permute(order));
  Tensor out = empty(keepdim ? kept : squeezed, x.dtype());
  dispatch_float("logsumexp", x.dtype(), [&]<class T>() {
    const int64_t n = out.numel();
    kernels::logsumexp(n, n == 0 ? 0 : rows.numel() / n, out.mutable_data<T>(), rows.data<T>());
  });
  const auto pull = [x = Saved(x), kept](const Tensor& gy, const Tensor& y) {
    return gy.reshape(kept) * slice_softmax(x, y.detach().reshape(kept));
  };
  return record("logsumexp", out, {{x, pull}});
}

}  // namespace gradus
