// Attention by one kernel, in tiles of scores.
#include <algorithm>
#include <limits>

#include "gradus/annexes/fast/attention/attention.hpp"
#include "gradus/annexes/fast/ops/fast_ops.hpp"
#include "gradus/autograd/ops/arguments.hpp"
#include "gradus/autograd/ops/products/attention.hpp"

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

// The gradient of repeat_heads, in public ops: sums over the heads that share one.
Tensor sum_of_heads(const Tensor& g, int64_t kv_heads) {
  if (g.size(1) == kv_heads) return g;
  return sum(g.reshape({g.size(0), kv_heads, g.size(1) / kv_heads, g.size(2), g.size(3)}), {2});
}

// The factors of the kernel's dropout, (B, nh, T, S); undefined if it drops nothing.
Tensor dropout_of(const AttentionShape& s, DType dtype) {
  if (s.dropout == 0.0) return {};
  return dropped(ones({s.batch, s.heads, s.q_len, s.k_len}, dtype), s.dropout, {s.key, s.offset});
}

// The keys that are hidden.
Tensor hidden_of(const AttentionShape& s, const Tensor& starts) {
  return hidden_keys({.causal = s.causal, .window = s.window, .starts = starts}, s.q_len, s.k_len);
}

// The gradients in public ops, which can be differentiated again.
std::vector<Tensor> composed_gradients(const AttentionShape& s, const Tensor& starts, const Tensor& gy,
                                       const Tensor& q, const Tensor& few_k, const Tensor& few_v) {
  const Autocast autocast(s.rounded ? DType::bfloat16 : DType::float32);
  const Tensor k = repeat_heads(few_k, s.heads), v = repeat_heads(few_v, s.heads);
  const Tensor weights = composed_weights(s.scale, hidden_of(s, starts), q, k);
  const Tensor drop = s.dropout > 0.0 ? dropout_of(s, q.dtype()) : ones({}, q.dtype());
  const Tensor gv = matmul((weights * drop).mT(), gy);
  const Tensor gw = matmul(gy, v.mT()) * drop * weights;
  const Tensor gs = (gw - weights * sum(gw, {-1}, /*keepdim=*/true)) * s.scale;
  return {matmul(gs, k), sum_of_heads(matmul(gs.mT(), q), s.kv_heads), sum_of_heads(gv, s.kv_heads)};
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
  s.scale = scale_of(options, s.head_size);
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

}  // namespace

Tensor tiled_attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
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
  if (autograd::is_traced()) [[unlikely]]
    autograd::trace_attributes(s.scale, hidden_of(s, kept.starts), dropout_of(s, q.dtype()));
  return mark_rounded(record(kOp, std::move(out), {q, k, v}, pull));
}

Tensor tiled_attention(const Tensor& qkv, int64_t n_head, const AttentionOptions& options) {
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
  if (autograd::is_traced()) [[unlikely]]
    autograd::trace_attributes(s.scale, hidden_of(s, kept.starts), dropout_of(s, qkv.dtype()), n_head);
  return mark_rounded(record(kOp, std::move(out), {autograd::Edge(qkv, pull)}));
}

}  // namespace gradus
