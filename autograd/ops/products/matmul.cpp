#include "gradus/autograd/graph/node.hpp"
#include "gradus/autograd/kernels/fast/fast_kernels.hpp"
#include "gradus/autograd/ops/products/operands.hpp"

namespace gradus {
namespace {

Shape batch_of(const Tensor& t) { return Shape(t.shape().begin(), t.shape().end() - 2); }

void multiply(Tensor& out, const Tensor& a, const Tensor& b, const Shape& batch) {
  const Matrices x(a), w(b);
  const int64_t m = a.size(-2), k = a.size(-1), n = b.size(-1);
  if (out.numel() == 0) return;
  const bool rounded =
      kernels::choose_product({.m = m, .n = n, .k = k, .rounded = is_rounded(out.dtype())}) ==
      kernels::ProductCode::multiply_bf16;
  if (batch.empty()) {
    if (rounded) return kernels::fast_kernels().multiply_rounded(out, x, w);
    dispatch_float("matmul", out.dtype(), [&]<class T>() {
      kernels::gemm<T>(x.trans, w.trans, m, n, k, x.tensor.data<T>(), x.ld, w.tensor.data<T>(), w.ld,
                       out.mutable_data<T>(), n);
    });
    return;
  }
  const std::vector<int64_t> xs = x.offsets(batch), ws = w.offsets(batch);
  if (rounded) return kernels::fast_kernels().multiply_rounded_batch(out, x, xs, w, ws);
  std::vector<int64_t> outs(xs.size());
  for (size_t i = 0; i < outs.size(); ++i) outs[i] = static_cast<int64_t>(i) * m * n;
  dispatch_float("matmul", out.dtype(), [&]<class T>() {
    kernels::gemm_batch<T>(static_cast<int64_t>(outs.size()), xs.data(), ws.data(), outs.data(), x.trans,
                           w.trans, m, n, k, x.tensor.data<T>(), x.ld, w.tensor.data<T>(), w.ld,
                           out.mutable_data<T>(), n);
  });
}

Tensor product(const Tensor& a, const Tensor& b) {
  Shape shape = broadcast_shapes("matmul", batch_of(a), batch_of(b));
  const Shape batch = shape;
  shape.push_back(a.size(-2));
  shape.push_back(b.size(-1));
  Tensor out = empty(shape, a.dtype());
  if (b.dim() == 2 && a.dim() > 2 && a.is_contiguous() && a.size(-1) > 0) {
    Tensor rows =
        view_of(out, {out.numel() / std::max<int64_t>(b.size(-1), 1), b.size(-1)}, {b.size(-1), 1}, 0);
    multiply(rows, fold(a.detach()), b, {});  // one large product instead of a batch of small ones
  } else {
    multiply(out, a, b, batch);
  }
  return out;
}

void check_matmul(const Tensor& a, const Tensor& b) {
  check_same_dtype("matmul", a, b);
  if (a.dim() == 0 || b.dim() == 0)
    fail("matmul", "needs operands of at least one dimension, got ", a.shape(), " and ", b.shape(), ".");
  const int64_t k = b.dim() == 1 ? b.size(0) : b.size(-2);
  if (a.size(-1) != k)
    fail("matmul", "the last dim of a must equal the ", b.dim() == 1 ? "only" : "second to last",
         " dim of b, got a ", a.shape(), " and b ", b.shape(), ".",
         a.dim() > 1 && b.dim() > 1 && a.size(-1) == b.size(-1) ? " Hint: use b.mT()." : "");
}

}  // namespace

Tensor mark_rounded(Tensor y) {
  if (is_rounded(y.dtype()) && y.impl()->node) y.impl()->node->rounded = true;
  return y;
}

Tensor matmul(const Tensor& a, const Tensor& b) {
  check_matmul(a, b);
  if (a.dim() == 1 && b.dim() == 1) return matmul(a.unsqueeze(0), b.unsqueeze(1)).reshape({});
  if (a.dim() == 1) return matmul(a.unsqueeze(0), b).squeeze(-2);
  if (b.dim() == 1) return matmul(a, b.unsqueeze(1)).squeeze(-1);
  if (a.dtype() == DType::int64) {  // column by row, as BLAS has no whole numbers
    Tensor y = sum(a.slice(-1, 0, 0).unsqueeze(-1) * b.slice(-2, 0, 0).unsqueeze(-3), {-2});
    for (int64_t l = 0; l < a.size(-1); ++l) y = y + a.slice(-1, l, l + 1) * b.slice(-2, l, l + 1);
    return y;
  }
  const DType in = autocast_dtype();
  const auto to_a = [b = Saved(b), in](const Tensor& gy) {  // (M, N) @ (N, K)
    const Autocast autocast(in);
    return matmul(gy, b->mT());
  };
  const auto to_b = [a = Saved(a), b2d = b.dim() == 2, in](const Tensor& gy) {  // (K, M) @ (M, N)
    const Autocast autocast(in);
    if (b2d && a->dim() > 2 && a->numel() > 0 && gy.numel() > 0)
      return matmul(fold(a).mT(), fold(gy));  // sums over the batch in the product itself
    return matmul(a->mT(), gy);
  };
  return mark_rounded(record("matmul", product(a, b), {{a, to_a}, {b, to_b}}));
}

Tensor mm(const Tensor& a, const Tensor& b) {
  check_defined("mm", a);
  check_defined("mm", b);
  if (a.dim() != 2 || b.dim() != 2)
    fail("mm", "needs matrices, got ", a.shape(), " and ", b.shape(), ". Hint: matmul() takes other shapes.");
  return matmul(a, b);
}

Tensor bmm(const Tensor& a, const Tensor& b) {
  check_defined("bmm", a);
  check_defined("bmm", b);
  if (a.dim() != 3 || b.dim() != 3 || a.size(0) != b.size(0))
    fail("bmm", "needs as many matrices on both sides, (B, m, n) and (B, n, p), got ", a.shape(), " and ",
         b.shape(), ". Hint: matmul() broadcasts.");
  return matmul(a, b);
}

}  // namespace gradus
