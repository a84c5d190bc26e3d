#include "gradus/autograd/kernels/attention.hpp"

#include <cmath>
#include <limits>

#include "gradus/autograd/kernels/dropout.hpp"
#include "gradus/autograd/ops.hpp"
#include "gradus/autograd/ops/check.hpp"
#include "gradus/autograd/raw.hpp"
#include "gradus/autograd/record.hpp"

namespace gradus {
namespace {

using kernels::AttentionShape;
using kernels::View4;

View4 strides_of(const Tensor& t) { return {t.strides()[0], t.strides()[1], t.strides()[2]}; }

// The kernel walks batch, heads and rows by strides, but wants each row packed.
Tensor with_packed_rows(const Tensor& t) { return t.strides()[3] == 1 || t.size(3) == 1 ? t : raw::clone(t); }

// (B, nh, T, hs) laid out as (B, T, nh, hs), so that joining the heads afterwards is a view.
Tensor empty_heads_inside(const Shape& s, DType dtype) {
  return empty({s[0], s[2], s[1], s[3]}, dtype).transpose(1, 2);
}

// softmax(scale * q @ k^T) in public ops, (..., T, S); rows that may attend to nothing are zeros.
Tensor composed_weights(const AttentionShape& s, const Tensor& q, const Tensor& k, const Tensor& mask = {}) {
  constexpr double kHidden = -std::numeric_limits<double>::infinity();
  Tensor scores = matmul(q, k.mT()) * s.scale;
  if (!s.causal && !mask.defined()) return softmax(scores, -1);
  if (mask.defined() && mask.dtype() == DType::boolean)
    scores = masked_fill(scores, eq(mask, 0.0), kHidden);
  else if (mask.defined())
    scores = scores + mask;
  if (s.causal)
    scores =
        masked_fill(scores, eq(tril(ones({s.q_len, s.k_len}, q.dtype()), s.k_len - s.q_len), 0.0), kHidden);
  return safe_softmax(scores, -1);
}

// The gradients in public ops, which can be differentiated again.
std::vector<Tensor> composed_gradients(const AttentionShape& s, const Tensor& gy, const Tensor& q,
                                       const Tensor& k, const Tensor& v) {
  const Tensor weights = composed_weights(s, q, k);
  Tensor drop = ones({}, q.dtype());
  if (s.dropout > 0.0) {
    // What the kernel multiplied the weights by: dropout of ones over the same words.
    const Tensor every = ones({s.batch, s.heads, s.q_len, s.k_len}, q.dtype());
    drop = empty(every.shape(), q.dtype());
    dispatch_float("scaled_dot_product_attention", q.dtype(), [&]<class T>() {
      kernels::dropout(every.numel(), drop.mutable_data<T>(), every.data<T>(), s.dropout, s.key, s.offset);
    });
  }
  const Tensor gv = matmul((weights * drop).mT(), gy);
  const Tensor gw = matmul(gy, v.mT()) * drop * weights;
  const Tensor gs = (gw - weights * sum(gw, {-1}, /*keepdim=*/true)) * s.scale;
  return {matmul(gs, k), matmul(gs.mT(), q), gv};
}

constexpr std::string_view kOp = "scaled_dot_product_attention";

void check_attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  check_floating(kOp, q);
  check_same_dtype(kOp, q, k);
  check_same_dtype(kOp, q, v);
  const bool fits =
      q.dim() >= 2 && k.dim() >= 2 && v.dim() >= 2 && q.size(-1) == k.size(-1) && k.size(-2) == v.size(-2);
  if (!fits)
    fail(kOp, "needs q (..., T, hs), k (..., S, hs) and v (..., S, n), got ", q.shape(), ", ", k.shape(),
         " and ", v.shape(), ".");
  if (!(options.dropout >= 0.0 && options.dropout <= 1.0))
    fail(kOp, "dropout must be in [0, 1], got ", options.dropout, ".");
  if (options.dropout > 0.0 && !options.generator) fail(kOp, "dropout needs a generator to draw from.");
}

void check_mask(const Tensor& mask, const Tensor& q, const Tensor& k) {
  const auto batch = [](const Tensor& t) { return Shape(t.shape().begin(), t.shape().end() - 2); };
  Shape scores = broadcast_shapes(kOp, batch(q), batch(k));
  scores.push_back(q.size(-2));
  scores.push_back(k.size(-2));
  if (mask.dtype() != DType::boolean && mask.dtype() != q.dtype())
    fail(kOp, "the mask must be bool or ", name(q.dtype()), ", got ", name(mask.dtype()), ".");
  if (broadcast_shapes(kOp, mask.shape(), scores) != scores)
    fail(kOp, "the mask must broadcast to the scores ", scores, ", got ", mask.shape(), ".");
}

// Whether a kernel may do it all: it knows no masks but the causal one, and draws no torch stream.
bool is_fused(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  return q.dim() == 4 && k.dim() == 4 && v.shape() == k.shape() && q.size(0) == k.size(0) &&
         q.size(1) == k.size(1) && !options.mask.defined() && options.dropout < 1.0 &&
         (options.dropout == 0.0 || !options.generator->as_torch());
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const AttentionOptions& options) {
  check_attention(q, k, v, options);
  AttentionShape s{};
  s.q_len = q.size(-2);
  s.k_len = k.size(-2);
  s.head_size = q.size(-1);
  s.causal = options.causal;
  s.scale = options.scale.value_or(1.0 / std::sqrt(static_cast<double>(s.head_size)));
  s.dropout = options.dropout;
  if (!is_fused(q, k, v, options)) {
    if (options.mask.defined()) check_mask(options.mask, q, k);
    const Tensor weights = composed_weights(s, q, k, options.mask);
    return matmul(s.dropout > 0.0 ? gradus::dropout(weights, s.dropout, *options.generator) : weights, v);
  }
  s.batch = q.size(0);
  s.heads = q.size(1);
  if (s.dropout > 0.0) {
    const Generator::Range words = options.generator->reserve(s.batch * s.heads * s.q_len * s.k_len);
    s.key = words.key;
    s.offset = words.block;
  }
  const Tensor qs = with_packed_rows(q), ks = with_packed_rows(k), vs = with_packed_rows(v);
  Tensor out = empty_heads_inside(q.shape(), q.dtype());
  Tensor lse = empty({s.batch, s.heads, s.q_len}, q.dtype());
  dispatch_float("scaled_dot_product_attention", q.dtype(), [&]<class T>() {
    kernels::attention(s, out.mutable_data<T>(), strides_of(out), lse.mutable_data<T>(), qs.data<T>(),
                       strides_of(qs), ks.data<T>(), strides_of(ks), vs.data<T>(), strides_of(vs));
  });
  return record("scaled_dot_product_attention", out, {q, k, v},
                [s, q = Saved(q), k = Saved(k), v = Saved(v), lse](const Tensor& gy, const Tensor& y, Needs) {
                  if (grad_enabled()) return composed_gradients(s, gy, q, k, v);
                  const Tensor g = with_packed_rows(gy), qp = with_packed_rows(q), kp = with_packed_rows(k),
                               vp = with_packed_rows(v);
                  Tensor gq = empty_heads_inside(q->shape(), q->dtype());
                  Tensor gk = empty_heads_inside(k->shape(), q->dtype());
                  Tensor gv = empty_heads_inside(v->shape(), q->dtype());
                  dispatch_float("scaled_dot_product_attention", q->dtype(), [&]<class T>() {
                    kernels::attention_grad(s, gq.mutable_data<T>(), strides_of(gq), gk.mutable_data<T>(),
                                            strides_of(gk), gv.mutable_data<T>(), strides_of(gv), g.data<T>(),
                                            strides_of(g), y.data<T>(), strides_of(y), lse.data<T>(),
                                            qp.data<T>(), strides_of(qp), kp.data<T>(), strides_of(kp),
                                            vp.data<T>(), strides_of(vp));
                  });
                  return std::vector<Tensor>{gq, gk, gv};
                });
}

}  // namespace gradus
