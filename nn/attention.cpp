#include "gradus/nn/attention.hpp"

#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/ops/ops.hpp"

namespace gradus::nn {
namespace {

int64_t checked_width(int64_t n_embd, int64_t n_head) {
  if (n_embd < 1 || n_head < 1 || n_embd % n_head != 0)
    fail("attention", "n_head must divide n_embd, got n_head ", n_head, " and n_embd ", n_embd, ".");
  return n_embd;
}

int64_t checked_head_size(int64_t n_embd, int64_t n_head, int64_t n_kv_head) {
  if (n_embd < 1 || n_head < 1 || n_embd % n_head != 0 || n_embd / n_head % 2 != 0)
    fail("attention", "n_head must divide n_embd into heads of an even size, got n_head ", n_head,
         " and n_embd ", n_embd, ".");
  if (n_kv_head < 1 || n_head % n_kv_head != 0)
    fail("attention", "n_kv_head must divide n_head, got n_kv_head ", n_kv_head, " and n_head ", n_head, ".");
  return n_embd / n_head;
}

void check_sequence(const Tensor& x) {
  if (x.dim() != 3) fail("attention", "x must be (B, T, C), got ", x.shape(), ".");
}

void check_decodes(bool causal) {
  if (!causal) fail("attention", "only causal attention can be continued from a cache, got causal = false.");
}

constexpr LinearOptions kNoBias{.bias = false};

}  // namespace

void KVCache::append(const Tensor& keys, const Tensor& values) {
  const int64_t end = length + keys.size(2);
  if (end > k.size(2))
    fail("attention", "a sequence must fit into its cache of ", k.size(2), " positions, got ", end, ".");
  k.slice(2, length, end).copy_(keys);
  v.slice(2, length, end).copy_(values);
  length = end;
}

Tensor attend(const Tensor& q, const KVCache& cache) {
  const AttentionOptions options{.causal = true, .enable_gqa = q.size(1) != cache.k.size(1)};
  const Tensor keys = cache.keys(), values = cache.values();
  const int64_t count = q.size(2), first = cache.length - count;
  if (count == 1 || count > kFewPositions) return scaled_dot_product_attention(q, keys, values, options);
  std::vector<Tensor> rows;
  for (int64_t t = 0; t < count; ++t)
    rows.push_back(scaled_dot_product_attention(q.slice(2, t, t + 1), keys.slice(2, 0, first + t + 1),
                                                values.slice(2, 0, first + t + 1), options));
  return cat(rows, 2);
}

KVCache make_kv_cache(int64_t batch, int64_t heads, int64_t capacity, int64_t head_size, DType weights) {
  const Shape shape = {batch, heads, capacity, head_size};
  const DType dtype = weights == DType::float64 ? DType::float64 : DType::float32;
  return {empty(shape, dtype), empty(shape, dtype)};
}

// -- MultiHeadAttention

MultiHeadAttention::MultiHeadAttention(int64_t n_embd, int64_t n_head, Generator& generator,
                                       const MultiHeadAttentionOptions& options)
    : c_attn(checked_width(n_embd, n_head), 3 * n_embd, generator, {.bias = options.bias}),
      drop(options.dropout),
      n_head_(n_head),
      causal_(options.causal) {
  if (options.projection)
    c_proj.emplace(n_embd, n_embd, generator, LinearOptions{.bias = options.projection_bias});
}

Tensor MultiHeadAttention::project(const Tensor& x) const {
  check_sequence(x);
  return c_attn(x);
}

Tensor MultiHeadAttention::mix(const Tensor& y) const { return c_proj ? (*c_proj)(y) : y; }

Tensor MultiHeadAttention::operator()(const Tensor& x, Generator* dropout) const {
  Generator* const source = dropout_source(drop.p(), training(), dropout);
  const Tensor y = scaled_dot_product_attention(
      project(x), n_head_, {.causal = causal_, .dropout = source ? drop.p() : 0.0, .generator = source});
  return drop(mix(y), dropout);
}

KVCache MultiHeadAttention::make_cache(int64_t batch, int64_t capacity) const {
  return make_kv_cache(batch, n_head_, capacity, c_attn.weight.size(1) / n_head_, c_attn.weight.dtype());
}

Tensor MultiHeadAttention::decode(const Tensor& x, KVCache& cache) const {
  check_decodes(causal_);
  const NoGrad no_grad;
  const std::vector<Tensor> qkv = project(x).split(x.size(2), -1);  // 3 x (B, T, C)
  const auto heads = [&](const Tensor& part) {
    return part.reshape({x.size(0), x.size(1), n_head_, x.size(2) / n_head_}).transpose(1, 2);
  };
  cache.append(heads(qkv[1]), heads(qkv[2]));
  const Tensor y = attend(heads(qkv[0]), cache);
  return mix(y.transpose(1, 2).reshape(x.shape()));
}

// -- GroupedQueryAttention

GroupedQueryAttention::GroupedQueryAttention(int64_t n_embd, int64_t n_head, int64_t n_kv_head,
                                             Generator& generator,
                                             const GroupedQueryAttentionOptions& options)
    : q_proj(n_embd, n_head * checked_head_size(n_embd, n_head, n_kv_head), generator, kNoBias),
      k_proj(n_embd, n_kv_head * (n_embd / n_head), generator, kNoBias),
      v_proj(n_embd, n_kv_head * (n_embd / n_head), generator, kNoBias),
      o_proj(n_embd, n_embd, generator, kNoBias),
      drop(options.dropout),
      kv_heads_(n_kv_head),
      head_size_(n_embd / n_head),
      options_(options) {
  if (!options.qk_norm) return;
  q_norm.emplace(head_size_, RMSNormOptions{options.norm_eps});
  k_norm.emplace(head_size_, RMSNormOptions{options.norm_eps});
}

GroupedQueryAttention::Heads GroupedQueryAttention::project(const Tensor& x, int64_t start) const {
  check_sequence(x);
  const auto heads = [&](const Tensor& projected, const std::optional<RMSNorm>& norm) {
    const Tensor split =
        projected.reshape({x.size(0), x.size(1), projected.size(2) / head_size_, head_size_});
    return (norm ? (*norm)(split) : split).transpose(1, 2);
  };
  const auto rotated = [&](const Tensor& h) { return rotary_embedding(h, start, options_.rope_theta); };
  const Tensor q = rotated(heads(q_proj(x), q_norm));
  const Tensor k = rotated(heads(k_proj(x), k_norm));
  return {q, k, heads(v_proj(x), {})};
}

Tensor GroupedQueryAttention::mix(const Tensor& heads) const {
  return o_proj(heads.transpose(1, 2).reshape({heads.size(0), heads.size(2), o_proj.weight.size(0)}));
}

Tensor GroupedQueryAttention::operator()(const Tensor& x, Generator* dropout) const {
  Generator* const source = dropout_source(drop.p(), training(), dropout);
  const auto [q, k, v] = project(x, 0);
  const Tensor y = scaled_dot_product_attention(q, k, v,
                                                {.causal = options_.causal,
                                                 .dropout = source ? drop.p() : 0.0,
                                                 .generator = source,
                                                 .enable_gqa = true});
  return drop(mix(y), dropout);
}

KVCache GroupedQueryAttention::make_cache(int64_t batch, int64_t capacity) const {
  return make_kv_cache(batch, kv_heads_, capacity, head_size_, q_proj.weight.dtype());
}

Tensor GroupedQueryAttention::decode(const Tensor& x, KVCache& cache) const {
  check_decodes(options_.causal);
  const NoGrad no_grad;
  const auto [q, k, v] = project(x, cache.length);
  cache.append(k, v);
  return mix(attend(q, cache));
}

}  // namespace gradus::nn
