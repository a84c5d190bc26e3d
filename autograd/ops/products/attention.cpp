#include "gradus/autograd/ops/products/attention.hpp"

#include <cmath>
#include <limits>

#include "gradus/autograd/kernels/fast/fast_kernels.hpp"
#include "gradus/autograd/ops/products/operands.hpp"

namespace gradus {
namespace {

constexpr const char* kOp = "scaled_dot_product_attention";

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

// Whether one kernel can compute it: the build has it, it has no mask except the causal one, and draws from
// no torch stream.
bool is_fused(const AttentionOptions& options) {
  return kernels::fast_kernels().attention && !options.mask.defined() && options.dropout < 1.0 &&
         (options.dropout == 0.0 || !options.generator->as_torch());
}

bool is_fused(const Tensor& q, const Tensor& k, const Tensor& v, bool enable_gqa) {
  return q.dim() == 4 && k.dim() == 4 && v.shape() == k.shape() && q.size(0) == k.size(0) &&
         (q.size(1) == k.size(1) || enable_gqa);
}

}  // namespace

double scale_of(const AttentionOptions& options, int64_t head_size) {
  return options.scale.value_or(1.0 / std::sqrt(static_cast<double>(head_size)));
}

Tensor repeat_heads(const Tensor& x, int64_t heads) {
  if (x.dim() < 3 || x.size(-3) == heads) return x;
  Shape groups = x.shape(), repeated = x.shape();
  groups.insert(x.dim() - 2, heads / x.size(-3));
  repeated[x.dim() - 3] = heads;
  return x.unsqueeze(-3).expand(groups).reshape(repeated);
}

Tensor composed_weights(double scale, const Tensor& hidden, const Tensor& q, const Tensor& k,
                        const Tensor& mask) {
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

Tensor split_heads(const Tensor& x, int64_t n_head) {
  Shape shape(x.shape().begin(), x.shape().end() - 1);
  shape.push_back(n_head);
  shape.push_back(x.size(-1) / n_head);
  return x.reshape(shape).transpose(-3, -2);
}

Heads split_parts(const Tensor& qkv, int64_t n_head) {
  const std::vector<Tensor> parts = qkv.split(qkv.size(2) / 3, 2);
  return {split_heads(parts[0], n_head), split_heads(parts[1], n_head), split_heads(parts[2], n_head)};
}

Tensor merge_heads(const Tensor& x) {
  Shape shape(x.shape().begin(), x.shape().end() - 3);
  shape.push_back(x.size(-2));
  shape.push_back(x.size(-3) * x.size(-1));
  return x.transpose(-3, -2).reshape(shape);
}

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
    const Tensor weights = composed_weights(scale_of(options, q.size(-1)),
                                            hidden_keys(options, q.size(-2), k.size(-2)), q, k, options.mask);
    return matmul(
        options.dropout > 0.0 ? gradus::dropout(weights, options.dropout, *options.generator) : weights, v);
  }
  return kernels::fast_kernels().attention(q, k, v, options);
}

Tensor scaled_dot_product_attention(const Tensor& qkv, int64_t n_head, const AttentionOptions& options) {
  check_packed(qkv, n_head);
  check_dropout(options);
  check_bounds(options, qkv.size(0), qkv.size(1));
  if (!is_fused(options)) {
    const Heads x = split_parts(qkv, n_head);
    return merge_heads(scaled_dot_product_attention(x.q, x.k, x.v, options));
  }
  return kernels::fast_kernels().packed_attention(qkv, n_head, options);
}

}  // namespace gradus
