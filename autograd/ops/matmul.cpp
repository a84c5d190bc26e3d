#include <algorithm>

#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/kernels/blocks.hpp"
#include "gradus/autograd/kernels/few_rows.hpp"
#include "gradus/autograd/kernels/gemm.hpp"
#include "gradus/autograd/ops/arguments.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/autograd/values/raw.hpp"

namespace gradus {
namespace {

using kernels::Trans;

// The last two dimensions as BLAS wants them: rows `ld` apart, or columns if transposed. Packs what is
// neither.
struct Matrices {
  explicit Matrices(const Tensor& t) : tensor(t) {
    if (try_strides()) return;
    tensor = raw::clone(t);
    try_strides();
  }

  bool try_strides() {
    const int n = tensor.dim();
    const int64_t rows = tensor.shape()[n - 2], cols = tensor.shape()[n - 1];
    const int64_t row_step = tensor.strides()[n - 2], col_step = tensor.strides()[n - 1];
    if ((col_step == 1 || cols == 1) && (row_step >= cols || rows == 1)) {
      trans = Trans::no;
      ld = rows == 1 ? std::max<int64_t>(cols, 1) : std::max<int64_t>(row_step, 1);
      return true;
    }
    if ((row_step == 1 || rows == 1) && (col_step >= rows || cols == 1)) {
      trans = Trans::yes;
      ld = cols == 1 ? std::max<int64_t>(rows, 1) : std::max<int64_t>(col_step, 1);
      return true;
    }
    return false;
  }

  // Where each matrix of the broadcast batch starts.
  std::vector<int64_t> offsets(const Shape& batch) const {
    std::vector<int64_t> list{0};
    const int lead = batch.size() - (tensor.dim() - 2);
    for (int d = 0; d < batch.size(); ++d) {
      const bool fixed = d < lead || tensor.shape()[d - lead] == 1;
      const int64_t step = fixed ? 0 : tensor.strides()[d - lead];
      std::vector<int64_t> longer;
      longer.reserve(list.size() * static_cast<size_t>(batch[d]));
      for (const int64_t base : list)
        for (int64_t i = 0; i < batch[d]; ++i) longer.push_back(base + i * step);
      list = std::move(longer);
    }
    return list;
  }

  Tensor tensor;
  Trans trans = Trans::no;
  int64_t ld = 1;
};

Shape batch_of(const Tensor& t) { return Shape(t.shape().begin(), t.shape().end() - 2); }

// (..., m, n) -> (rows, n)
Tensor fold(const Tensor& t) {
  if (t.dim() == 2) return t;
  Shape rows = t.shape();
  rows.erase(rows.size() - 1);
  return t.reshape({rows.numel(), t.shape().back()});
}

void multiply(Tensor& out, const Tensor& a, const Tensor& b, const Shape& batch) {
  const Matrices x(a), w(b);
  const int64_t m = a.size(-2), k = a.size(-1), n = b.size(-1);
  if (out.numel() == 0) return;
  if (batch.empty()) {
    dispatch_float("matmul", out.dtype(), [&]<class T>() {
      kernels::gemm<T>(x.trans, w.trans, m, n, k, T{1}, x.tensor.data<T>(), x.ld, w.tensor.data<T>(), w.ld,
                       T{0}, out.mutable_data<T>(), n);
    });
    return;
  }
  const std::vector<int64_t> xs = x.offsets(batch), ws = w.offsets(batch);
  std::vector<int64_t> outs(xs.size());
  for (size_t i = 0; i < outs.size(); ++i) outs[i] = static_cast<int64_t>(i) * m * n;
  dispatch_float("matmul", out.dtype(), [&]<class T>() {
    kernels::gemm_batch<T>(static_cast<int64_t>(outs.size()), xs.data(), ws.data(), outs.data(), x.trans,
                           w.trans, m, n, k, T{1}, x.tensor.data<T>(), x.ld, w.tensor.data<T>(), w.ld, T{0},
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
  check_floating("matmul", a);
  if (a.dim() == 0 || b.dim() == 0)
    fail("matmul", "needs operands of at least one dimension, got ", a.shape(), " and ", b.shape(), ".");
  const int64_t k = b.dim() == 1 ? b.size(0) : b.size(-2);
  if (a.size(-1) != k)
    fail("matmul", "the last dim of a must equal the ", b.dim() == 1 ? "only" : "second to last",
         " dim of b, got a ", a.shape(), " and b ", b.shape(), ".",
         a.dim() > 1 && b.dim() > 1 && a.size(-1) == b.size(-1) ? " Hint: use b.mT()." : "");
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  check_matmul(a, b);
  if (a.dim() == 1 && b.dim() == 1) return matmul(a.unsqueeze(0), b.unsqueeze(1)).reshape({});
  if (a.dim() == 1) return matmul(a.unsqueeze(0), b).squeeze(-2);
  if (b.dim() == 1) return matmul(a, b.unsqueeze(1)).squeeze(-1);
  const auto to_a = [b = Saved(b)](const Tensor& gy) { return matmul(gy, b->mT()); };  // (M, N) @ (N, K)
  const auto to_b = [a = Saved(a), b2d = b.dim() == 2](const Tensor& gy) {             // (K, M) @ (M, N)
    if (b2d && a->dim() > 2 && a->numel() > 0 && gy.numel() > 0)
      return matmul(fold(a).mT(), fold(gy));  // sums over the batch in the product itself
    return matmul(a->mT(), gy);
  };
  return record("matmul", product(a, b), {{a, to_a}, {b, to_b}});
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

// x (..., in), weight (in), bias () -> (...)
static Tensor linear_to_one(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (x.dim() == 0 || x.size(-1) != weight.size(0))
    fail("linear", "needs x (..., in) and weight (in,), got x ", x.shape(), " and weight ", weight.shape(),
         ".");
  const Tensor y = matmul(x, weight);
  if (!bias.defined()) return y;
  check_same_dtype("linear", x, bias);
  if (bias.dim() != 0)
    fail("linear", "bias must be () for a weight ", weight.shape(), ", got ", bias.shape(), ".");
  return y + bias;
}

static void check_linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (weight.dim() != 2 || x.dim() == 0 || x.size(-1) != weight.size(1))
    fail("linear", "needs x (..., in) and weight (out, in), got x ", x.shape(), " and weight ",
         weight.shape(), ".");
  if (!bias.defined()) return;
  check_same_dtype("linear", x, bias);
  if (bias.shape() != Shape{weight.size(0)})
    fail("linear", "bias must be (", weight.size(0), ",), got ", bias.shape(), ".");
}

// With a weight that is only stored: it gets no gradient, x does.
static Tensor linear_stored(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_floating("linear", x);
  check_linear(x, weight, bias);
  const int64_t out_features = weight.size(0), in_features = weight.size(1);
  if (!weight.is_contiguous())
    fail("linear", "a bfloat16 weight must be packed, got strides ", weight.strides(), ".");
  const bool in_tiles = is_in_tiles(weight.dtype());
  if (in_tiles && x.dtype() == DType::float64) return linear(x, weight.to(DType::float64), bias);
  Shape shape = x.shape();
  shape[shape.size() - 1] = out_features;
  Tensor out = empty(shape, x.dtype());
  const Tensor rows = raw::contiguous(x), b = bias.defined() ? raw::contiguous(bias) : bias;
  const int64_t m = out_features == 0 ? 0 : out.numel() / out_features;
  const auto multiply = [&]<class T, class W>(auto kernel) {
    if (m > 0)
      kernel(m, out_features, in_features, out.mutable_data<T>(), rows.data<T>(), in_features,
             weight.data<W>(), b.defined() ? b.data<T>() : nullptr);
  };
  if (in_tiles)
    dispatch_tiles(weight.dtype(),
                   [&]<class W>() { multiply.template operator()<float, W>(kernels::linear_tiles<W>); });
  else
    dispatch_float("linear", x.dtype(), [&]<class T>() {
      multiply.template operator()<T, bfloat16>(kernels::linear_few_rows<T, bfloat16>);
    });
  return record("linear", out,
                {{x, [w = Saved(weight)](const Tensor& gy) { return matmul(gy, w->to(gy.dtype())); }},
                 {bias, [](const Tensor& gy) { return gy; }}});
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (weight.defined() && is_storage(weight.dtype())) return linear_stored(x, weight, bias);
  check_same_dtype("linear", x, weight);
  check_floating("linear", x);
  if (weight.dim() == 1) return linear_to_one(x, weight, bias);
  check_linear(x, weight, bias);
  const int64_t out_features = weight.size(0), in_features = weight.size(1);
  Shape shape = x.shape();
  shape[shape.size() - 1] = out_features;
  Tensor out = empty(shape, x.dtype());
  const Tensor rows = raw::contiguous(x), w = raw::contiguous(weight),
               b = bias.defined() ? raw::contiguous(bias) : bias;
  dispatch_float("linear", x.dtype(), [&]<class T>() {
    if (out.numel() > 0)
      kernels::linear<T>(out.numel() / out_features, out_features, in_features, out.mutable_data<T>(),
                         rows.data<T>(), in_features, w.data<T>(), b.defined() ? b.data<T>() : nullptr);
  });
  return record("linear", out,
                {{x, [w = Saved(weight)](const Tensor& gy) { return matmul(gy, w); }},
                 {weight, [x = Saved(x)](const Tensor& gy) { return matmul(fold(gy).mT(), fold(x)); }},
                 {bias, [](const Tensor& gy) { return gy; }}});
}

}  // namespace gradus
