#include "gradus/autograd/kernels/attention/attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gradus/autograd/kernels/elementwise/elementwise.hpp"
#include "gradus/autograd/ops/products/operands.hpp"

namespace gradus {
namespace {

using kernels::AttentionShape;
using kernels::View4;

constexpr const char* kOp = "scaled_dot_product_attention";

View4 strides_of(const Tensor& t) { return {t.strides()[0], t.strides()[1], t.strides()[2]}; }

// The kernel reads batch, heads and rows by strides, but each row must be packed, and rows must lie apart.
Tensor with_packed_rows(const Tensor& t) {
  const Shape& strides = t.strides();
  const int last = t.dim() - 1;
  const bool packed = strides[last] == 1 || t.size(-1) == 1,
             apart = strides[last - 1] >= t.size(-1) || t.size(-2) == 1;
  return packed && apart ? t : raw::clone(t);
}

// (B, nh, T, hs) stored as (B, T, nh, hs), so that joining the heads is a view.
Tensor empty_heads_inside(const Shape& s, DType dtype) {
  return empty({s[0], s[2], s[1], s[3]}, dtype).transpose(1, 2);
}

// k or v with heads repeated for q's, in public ops: (..., kv heads, S, hs) -> (..., heads, S, hs).
Tensor repeat_heads(const Tensor& x, int64_t heads) {
  if (x.dim() < 3 || x.size(-3) == heads) return x;
  Shape groups = x.shape(), repeated = x.shape();
  groups.insert(x.dim() - 2, heads / x.size(-3));
  repeated[x.dim() - 3] = heads;
  return x.unsqueeze(-3).expand(groups).reshape(repeated);
}

// The gradient of repeat_heads, in public ops: sums over the heads that share one.
Tensor sum_of_heads(const Tensor& g, int64_t kv_heads) {
  if (g.size(1) == kv_heads) return g;
  return sum(g.reshape({g.size(0), kv_heads, g.size(1) / kv_heads, g.size(2), g.size(3)}), {2});
}

// softmax(scale * q @ k^T) in public ops, (..., T, S); rows that may attend to nothing are zeros.
Tensor composed_weights(double scale, const Tensor& hidden, const Tensor& q, const Tensor& k,
                        const Tensor& mask = {}) {
  constexpr double kHidden = -std::numeric_limits<double>::infinity();
  Tensor scores = matmul(q, k.mT()) * scale;
  if (!hidden.defined() && !mask.defined()) return softmax(scores, -1);
  if (mask.defined() && mask.dtype() == DType::boolean)
    scores = masked_fill(scores, eq(mask, 0.0), kHidden);
  else if (mask.defined())
    scores = scores + mask;
  if (hidden.defined()) scores = masked_fill(scores, hidden, kHidden);
  return safe_softmax(scores, -1);
}

// The gradients in public ops, which can be differentiated again.
std::vector<Tensor> composed_gradients(const AttentionShape& s, const Tensor& starts, const Tensor& gy,
                                       const Tensor& q, const Tensor& few_k, const Tensor& few_v) {
  const Autocast autocast(s.rounded ? DType::bfloat16 : DType::float32);
  const Tensor k = repeat_heads(few_k, s.heads), v = repeat_heads(few_v, s.heads);
  const Tensor weights = composed_weights(
      s.scale, hidden_keys({.causal = s.causal, .window = s.window, .starts = starts}, s.q_len, s.k_len), q,
      k);
  Tensor drop = ones({}, q.dtype());
  if (s.dropout > 0.0) {
    // The factors of the kernel's dropout: dropout of ones over the same words.
    const Tensor every = ones({s.batch, s.heads, s.q_len, s.k_len}, q.dtype());
    drop = empty(every.shape(), q.dtype());
    dispatch_float(kOp, q.dtype(), [&]<class T>() {
      kernels::dropout(every.numel(), drop.mutable_data<T>(), every.data<T>(), s.dropout, s.key, s.offset);
    });
  }
  const Tensor gv = matmul((weights * drop).mT(), gy);
  const Tensor gw = matmul(gy, v.mT()) * drop * weights;
  const Tensor gs = (gw - weights * sum(gw, {-1}, /*keepdim=*/true)) * s.scale;
  return {matmul(gs, k), sum_of_heads(matmul(gs.mT(), q), s.kv_heads), sum_of_heads(gv, s.kv_heads)};
}

void check_dropout(const AttentionOptions& options) {
  if (!(options.dropout >= 0.0 && options.dropout <= 1.0))
    fail(kOp, "dropout must be in [0, 1], got ", options.dropout, ".");
  if (options.dropout > 0.0 && !options.generator) fail(kOp, "dropout needs a generator to draw from.");
}

/// `batch` is -1 for queries without four dimensions.
void check_bounds(const AttentionOptions& options, int64_t batch, int64_t T) {
  if (options.window < 0 || (options.window > 0 && !options.causal))
    fail(kOp, "window must be 0, or above 0 with causal, got ", options.window, ".");
  const Tensor& starts = options.starts;
  if (starts.defined() && (starts.dtype() != DType::int64 || starts.shape() != Shape{batch, T}))
    fail(kOp, "starts must be int64 (B, T) for q (B, nh, T, hs), got ", name(starts.dtype()), " ",
         starts.shape(), " for T = ", T, ".");
}

void check_attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  check_floating(kOp, q);
  check_same_dtype(kOp, q, k);
  check_same_dtype(kOp, q, v);
  const bool fits =
      q.dim() >= 2 && k.dim() >= 2 && v.dim() >= 2 && q.size(-1) == k.size(-1) && k.size(-2) == v.size(-2);
  if (!fits)
    fail(kOp, "needs q (..., T, hs), k (..., S, hs) and v (..., S, n), got ", q.shape(), ", ", k.shape(),
         " and ", v.shape(), ".");
  check_dropout(options);
  check_bounds(options, q.dim() == 4 ? q.size(0) : -1, q.size(-2));
}

void check_heads(const Tensor& q, const Tensor& k, const Tensor& v) {
  const auto heads = [](const Tensor& t) { return t.dim() < 3 ? 0 : t.size(-3); };
  if (heads(k) < 1 || heads(k) != heads(v) || heads(q) % heads(k) != 0)
    fail(kOp, "with enable_gqa k and v must have one number of heads, which divides q's, got ", q.shape(),
         ", ", k.shape(), " and ", v.shape(), ".");
}

void check_packed(const Tensor& qkv, int64_t n_head) {
  check_floating(kOp, qkv);
  if (qkv.dim() != 3 || n_head < 1 || qkv.size(2) % (3 * n_head) != 0)
    fail(kOp, "needs qkv (B, T, 3 C) and an n_head >= 1 that divides C, got ", qkv.shape(), " and ", n_head,
         ".");
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

// Whether one kernel can compute it: it has no mask except the causal one, and draws from no torch stream.
bool is_fused(const AttentionOptions& options) {
  return !options.mask.defined() && options.dropout < 1.0 &&
         (options.dropout == 0.0 || !options.generator->as_torch());
}

bool is_fused(const Tensor& q, const Tensor& k, const Tensor& v, bool enable_gqa) {
  return q.dim() == 4 && k.dim() == 4 && v.shape() == k.shape() && q.size(0) == k.size(0) &&
         (q.size(1) == k.size(1) || enable_gqa);
}

AttentionShape shape_of(const Tensor& q, const Tensor& k, const AttentionOptions& options) {
  AttentionShape s{};
  s.q_len = q.size(-2);
  s.k_len = k.size(-2);
  s.head_size = q.size(-1);
  s.causal = options.causal;
  s.window = static_cast<int32_t>(std::min<int64_t>(options.window, std::numeric_limits<int32_t>::max()));
  if (options.starts.defined()) s.starts = options.starts.data<int64_t>();
  s.rounded = is_rounded(q.dtype());
  s.scale = options.scale.value_or(1.0 / std::sqrt(static_cast<double>(s.head_size)));
  s.dropout = options.dropout;
  return s;
}

// The same for the kernel, whose q and k have four dimensions: draws the words of dropout.
AttentionShape kernel_shape(const Tensor& q, const Tensor& k, const AttentionOptions& options) {
  AttentionShape s = shape_of(q, k, options);
  s.batch = q.size(0);
  s.heads = q.size(1);
  s.kv_heads = k.size(1);
  if (s.dropout == 0.0) return s;
  const Generator::Range words = options.generator->reserve(s.batch * s.heads * s.q_len * s.k_len);
  s.key = words.key;
  s.offset = words.block;
  return s;
}

// The options for the kernel, which reads `starts` by its address.
AttentionOptions with_packed_starts(AttentionOptions options) {
  if (options.starts.defined()) options.starts = options.starts.contiguous();
  return options;
}

// Rows of all arguments are packed; out is written. Returns the rows' sums.
Tensor attend(const AttentionShape& s, Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v) {
  Tensor sums = empty({s.batch, s.heads, s.q_len, 2}, q.dtype());
  dispatch_float(kOp, q.dtype(), [&]<class T>() {
    kernels::attention(s, out.mutable_data<T>(), strides_of(out), sums.mutable_data<T>(), q.data<T>(),
                       strides_of(q), k.data<T>(), strides_of(k), v.data<T>(), strides_of(v));
  });
  return sums;
}

struct Heads {
  Tensor q, k, v;  // (B, nh, T or S, hs)
};

// The gradients, written to `to`; of `from`, gy and y rows are packed.
void attend_grad(const AttentionShape& s, Heads& to, const Tensor& gy, const Tensor& y, const Tensor& sums,
                 const Heads& from) {
  dispatch_float(kOp, gy.dtype(), [&]<class T>() {
    kernels::attention_grad(s, to.q.mutable_data<T>(), strides_of(to.q), to.k.mutable_data<T>(),
                            strides_of(to.k), to.v.mutable_data<T>(), strides_of(to.v), gy.data<T>(),
                            strides_of(gy), y.data<T>(), strides_of(y), sums.data<T>(), from.q.data<T>(),
                            strides_of(from.q), from.k.data<T>(), strides_of(from.k), from.v.data<T>(),
                            strides_of(from.v));
  });
}

// The C = n_head * head_size columns of x from one on, (B, T, C) -> (B, nh, T, hs); outside the graph.
Tensor view_heads(const Tensor& x, int64_t n_head, int64_t column, int64_t head_size) {
  const Shape& strides = x.strides();
  return view_of(x, {x.size(0), n_head, x.size(1), head_size},
                 {strides[0], head_size * strides[2], strides[1], strides[2]},
                 x.impl()->offset + column * strides[2]);
}

Tensor view_heads(const Tensor& x, int64_t n_head) { return view_heads(x, n_head, 0, x.size(2) / n_head); }

// qkv (B, T, 3 C) -> q, k and v, outside the graph.
Heads view_parts(const Tensor& qkv, int64_t n_head) {
  const int64_t C = qkv.size(2) / 3, hs = C / n_head;
  return {view_heads(qkv, n_head, 0, hs), view_heads(qkv, n_head, C, hs), view_heads(qkv, n_head, 2 * C, hs)};
}

// (B, T, C) -> (B, nh, T, hs) in public ops.
Tensor split_heads(const Tensor& x, int64_t n_head) {
  return x.reshape({x.size(0), x.size(1), n_head, x.size(2) / n_head}).transpose(1, 2);
}

Heads split_parts(const Tensor& qkv, int64_t n_head) {
  const std::vector<Tensor> parts = qkv.split(qkv.size(2) / 3, 2);
  return {split_heads(parts[0], n_head), split_heads(parts[1], n_head), split_heads(parts[2], n_head)};
}

// (B, nh, T, hs) -> (B, T, C) in public ops.
Tensor merge_heads(const Tensor& x) {
  return x.transpose(1, 2).reshape({x.size(0), x.size(2), x.size(1) * x.size(3)});
}

}  // namespace

Tensor hidden_keys(const AttentionOptions& options, int64_t T, int64_t S) {
  const auto end = static_cast<double>(S), first = static_cast<double>(S - T);
  const Tensor key = arange(0, end), last = arange(first, end).unsqueeze(1);  // (S) and (T, 1)
  Tensor hidden;
  const auto hide = [&](const Tensor& which) {
    hidden = hidden.defined() ? maximum(hidden, which.to(DType::float32)) : which.to(DType::float32);
  };
  if (options.causal) hide(gt(key, last));
  if (options.window > 0) hide(le(key, last - static_cast<double>(options.window)));
  if (options.starts.defined()) hide(lt(key, options.starts.unsqueeze(1).unsqueeze(3)));
  return hidden.defined() ? hidden.to(DType::boolean) : hidden;
}

Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const AttentionOptions& options) {
  check_attention(q, k, v, options);
  if (options.enable_gqa) check_heads(q, k, v);
  if (!is_fused(options) || !is_fused(q, k, v, options.enable_gqa)) {
    if (options.enable_gqa && q.size(-3) != k.size(-3)) {
      const int64_t heads = q.size(-3);
      return scaled_dot_product_attention(q, repeat_heads(k, heads), repeat_heads(v, heads), options);
    }
    if (options.mask.defined()) check_mask(options.mask, q, k);
    const Tensor weights = composed_weights(shape_of(q, k, options).scale,
                                            hidden_keys(options, q.size(-2), k.size(-2)), q, k, options.mask);
    return matmul(
        options.dropout > 0.0 ? gradus::dropout(weights, options.dropout, *options.generator) : weights, v);
  }
  const AttentionOptions kept = with_packed_starts(options);
  const AttentionShape s = kernel_shape(q, k, kept);
  Tensor out = empty_heads_inside(q.shape(), q.dtype());
  const Tensor sums = attend(s, out, with_packed_rows(q), with_packed_rows(k), with_packed_rows(v));
  const auto pull = [s, starts = kept.starts, q = Saved(q), k = Saved(k), v = Saved(v), sums](
                        auto& gy, auto& y, Needs) {
    if (grad_enabled()) return composed_gradients(s, starts, gy, q, k, v);
    Heads to = {empty_heads_inside(q->shape(), q->dtype()), empty_heads_inside(k->shape(), q->dtype()),
                empty_heads_inside(v->shape(), q->dtype())};
    const Heads from = {with_packed_rows(q), with_packed_rows(k), with_packed_rows(v)};
    attend_grad(s, to, with_packed_rows(gy), y, sums, from);
    return std::vector<Tensor>{to.q, to.k, to.v};
  };
  return mark_rounded(record(kOp, std::move(out), {q, k, v}, pull));
}

Tensor scaled_dot_product_attention(const Tensor& qkv, int64_t n_head, const AttentionOptions& options) {
  check_packed(qkv, n_head);
  check_dropout(options);
  check_bounds(options, qkv.size(0), qkv.size(1));
  if (!is_fused(options)) {
    const Heads x = split_parts(qkv, n_head);
    return merge_heads(scaled_dot_product_attention(x.q, x.k, x.v, options));
  }
  const Heads x = view_parts(with_packed_rows(qkv), n_head);
  const AttentionOptions kept = with_packed_starts(options);
  const AttentionShape s = kernel_shape(x.q, x.k, kept);
  Tensor out = empty({qkv.size(0), qkv.size(1), qkv.size(2) / 3}, qkv.dtype());
  Tensor out_heads = view_heads(out, n_head);
  const Tensor sums = attend(s, out_heads, x.q, x.k, x.v);
  const auto pull = [s, starts = kept.starts, n_head, qkv = Saved(qkv), sums](const Tensor& gy,
                                                                              const Tensor& y) {
    if (grad_enabled()) {
      const auto [q, k, v] = split_parts(qkv, n_head);
      const std::vector<Tensor> g = composed_gradients(s, starts, split_heads(gy, n_head), q, k, v);
      return cat({merge_heads(g[0]), merge_heads(g[1]), merge_heads(g[2])}, -1);
    }
    Tensor gqkv = empty(qkv->shape(), qkv->dtype());
    Heads to = view_parts(gqkv, n_head);
    const Heads from = view_parts(with_packed_rows(qkv), n_head);
    attend_grad(s, to, view_heads(with_packed_rows(gy), n_head), view_heads(y, n_head), sums, from);
    return gqkv;
  };
  return mark_rounded(record(kOp, std::move(out), {autograd::Edge(qkv, pull)}));
}

}  // namespace gradus
