#include "gradus/autograd/kernels/rows/softmax.hpp"

#include <algorithm>

#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/ops/along_rows.hpp"
#include "gradus/autograd/ops/arguments.hpp"
#include "gradus/autograd/ops/ops.hpp"

namespace gradus {
namespace raw {
namespace {

Tensor softmax(const Tensor& input, int dim) {
  return along_rows(
      dim,
      [](int64_t rows, int64_t cols, Tensor& y, const Tensor& x) {
        dispatch_float("softmax", x.dtype(),
                       [&]<class T>() { kernels::softmax(rows, cols, y.mutable_data<T>(), x.data<T>()); });
      },
      input);
}

Tensor softmax_grad(const Tensor& upstream, const Tensor& output, int dim) {
  return along_rows(
      dim,
      [](int64_t rows, int64_t cols, Tensor& gx, const Tensor& gy, const Tensor& y) {
        dispatch_float("softmax", y.dtype(), [&]<class T>() {
          kernels::softmax_grad(rows, cols, gx.mutable_data<T>(), gy.data<T>(), y.data<T>());
        });
      },
      upstream, output);
}

Tensor log_softmax(const Tensor& input, int dim) {
  return along_rows(
      dim,
      [](int64_t rows, int64_t cols, Tensor& y, const Tensor& x) {
        dispatch_float("log_softmax", x.dtype(), [&]<class T>() {
          kernels::log_softmax(rows, cols, y.mutable_data<T>(), x.data<T>());
        });
      },
      input);
}

Tensor log_softmax_grad(const Tensor& upstream, const Tensor& output, int dim) {
  return along_rows(
      dim,
      [](int64_t rows, int64_t cols, Tensor& gx, const Tensor& gy, const Tensor& y) {
        dispatch_float("log_softmax", y.dtype(), [&]<class T>() {
          kernels::log_softmax_grad(rows, cols, gx.mutable_data<T>(), gy.data<T>(), y.data<T>());
        });
      },
      upstream, output);
}

}  // namespace
}  // namespace raw

Tensor softmax(const Tensor& x, int64_t dim) {
  check_floating("softmax", x);
  const int d = wrap_dim("softmax", dim, x.dim());
  const auto pull = [d](const Tensor& gy, const Tensor& y) {
    if (!grad_enabled()) return raw::softmax_grad(gy, y, d);
    const Tensor p = gy * y;
    return p - y * sum(p, {d}, /*keepdim=*/true);
  };
  return record("softmax", raw::softmax(x, d), {{x, pull}});
}

Tensor safe_softmax(const Tensor& x, int64_t dim) {
  check_floating("safe_softmax", x);
  const int d = wrap_dim("safe_softmax", dim, x.dim());
  if (x.numel() == 0) return softmax(x, d);
  const Tensor hidden = eq(amax(x.detach(), {d}, /*keepdim=*/true), -std::numeric_limits<double>::infinity());
  return masked_fill(softmax(masked_fill(x, hidden, 0.0), d), hidden, 0.0);
}

Tensor log_softmax(const Tensor& x, int64_t dim) {
  check_floating("log_softmax", x);
  const int d = wrap_dim("log_softmax", dim, x.dim());
  const auto pull = [d](const Tensor& gy, const Tensor& y) {
    if (!grad_enabled()) return raw::log_softmax_grad(gy, y, d);
    return gy - exp(y) * sum(gy, {d}, /*keepdim=*/true);
  };
  return record("log_softmax", raw::log_softmax(x, d), {{x, pull}});
}

// softmax(x) over the dimensions that are of size 1 in y = logsumexp(x). Far from 0 y is rounded coarsely, so
// it serves only as a shift that is divided out again; a slice of nothing but -inf, where y is -inf, needs
// none and gives zeros.
static Tensor slice_softmax(const Tensor& x, const Tensor& y) {
  const Tensor shift = masked_fill(y, eq(y, -std::numeric_limits<double>::infinity()), 0.0);
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
