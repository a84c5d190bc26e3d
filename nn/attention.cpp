#include "gradus/nn/attention.hpp"

#include <cmath>
#include <limits>

#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/ops/products/attention.hpp"

namespace gradus::nn {
namespace {

int64_t checked_width(int64_t n_embd, int64_t n_head) {
  if (n_embd < 1 || n_head < 1 || n_embd % n_head != 0)
    fail("attention", "n_head must divide n_embd, got n_head ", n_head, " and n_embd ", n_embd, ".");
  return n_embd;
}

int64_t checked_head_size(int64_t n_embd, int64_t n_head, int64_t n_kv_head, int64_t head_size) {
  if (n_embd < 1 || n_head < 1 || head_size < 0 || head_size % 2 != 0 ||
      (head_size == 0 && (n_embd % n_head != 0 || n_embd / n_head % 2 != 0)))
    fail("attention", "n_head must divide n_embd into heads of an even size, got n_head ", n_head,
         " and n_embd ", n_embd, head_size == 0 ? "" : concat(" with head_size ", head_size), ".");
  if (n_kv_head < 1 || n_head % n_kv_head != 0)
    fail("attention", "n_kv_head must divide n_head, got n_kv_head ", n_kv_head, " and n_head ", n_head, ".");
  return head_size > 0 ? head_size : n_embd / n_head;
}

void check_sequence(const Tensor& x) {
  if (!x.defined() || x.dim() != 3)
    fail("attention", "x must be (B, T, C), got ", x.defined() ? concat(x.shape()) : "none", ".");
}

void check_decodes(bool causal) {
  if (!causal) fail("attention", "only causal attention can be continued from a cache, got causal = false.");
}

/// The formula, with its points: q (B, nh, T, hs), k and v (B, n, S, hs) -> (B, nh, T, hs).
Tensor attention_by_formula(const Module& layer, const Tensor& q, const Tensor& k, const Tensor& v,
                            const AttentionOptions& options) {
  const auto for_all_heads = [&q](const Tensor& x) { return repeat_heads(x, q.size(1)); };
  const Tensor hidden = hidden_keys(options, q.size(2), k.size(2));
  Tensor scores = matmul(q, for_all_heads(k).transpose(2, 3)) / std::sqrt(static_cast<double>(q.size(3)));
  if (hidden.defined()) scores = masked_fill(scores, hidden, -std::numeric_limits<double>::infinity());
  const Tensor pattern = layer.point("pattern", softmax(layer.point("scores", scores), -1));
  return matmul(options.generator ? dropout(pattern, options.dropout, *options.generator) : pattern,
                for_all_heads(v));
}

/// Attention, of the last positions of a cache if there is one; by the formula if the scores or the pattern
/// are watched.
Tensor attention(const Module& layer, const Tensor& q, const Tensor& k, const Tensor& v,
                 const AttentionOptions& options, const KVCache* cache = nullptr) {
  if (layer.is_watched("scores") || layer.is_watched("pattern"))
    return attention_by_formula(layer, q, k, v, options);
  return cache ? attend(q, *cache, options.window) : scaled_dot_product_attention(q, k, v, options);
}

/// The outputs of the heads side by side, (B, T, C), each passed through its point.
Tensor with_head_points(const Module& layer, const Tensor& y, int64_t n_head) {
  if (!layer.may_be_watched()) return y;
  std::vector<Tensor> heads = y.chunk(n_head, 2);
  for (size_t i = 0; i < heads.size(); ++i) heads[i] = layer.point(concat("head.", i), heads[i]);
  return cat(heads, 2);
}

}  // namespace

void KVCache::append(const Tensor& keys, const Tensor& values) {
  if (!k.defined())
    fail("attention", "a cache needs memory, got none. Hint: make_kv_cache() or make_cache().");
  Shape wanted = k.shape();
  wanted[2] = keys.dim() == 4 ? keys.size(2) : 1;
  if (keys.shape() != wanted || values.shape() != wanted)
    fail("attention", "keys and values for a cache of ", k.shape(), " must be ", wanted, ", got ",
         keys.shape(), " and ", values.shape(), ".");
  const int64_t end = length + wanted[2];
  if (end > k.size(2))
    fail("attention", "a sequence must fit into its cache of ", k.size(2), " positions, got ", end, ".");
  k.slice(2, length, end).copy_(keys.detach());
  v.slice(2, length, end).copy_(values.detach());
  length = end;
}

Tensor attend(const Tensor& q, const KVCache& cache, int64_t window) {
  const AttentionOptions options{
      .causal = true, .window = window, .enable_gqa = q.size(1) != cache.k.size(1)};
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

Tensor MultiHeadAttention::project(const Tensor& x, Generator* dropout) const {
  check_sequence(x);
  return c_attn(x, dropout);
}

Tensor MultiHeadAttention::mix(const Tensor& y, Generator* dropout) const {
  const Tensor heads = with_head_points(*this, y, n_head_);
  return c_proj ? (*c_proj)(heads, dropout) : heads;
}

MultiHeadAttention::Heads MultiHeadAttention::split(const Tensor& qkv) const {
  const auto [q, k, v] = split_parts(qkv, n_head_);
  return {point("q", q), point("k", k), point("v", v)};
}

Tensor MultiHeadAttention::operator()(const Tensor& x, Generator* dropout, const Tensor& starts) const {
  Generator* const source = dropout_source(drop.p(), training(), dropout);
  const AttentionOptions options{
      .causal = causal_, .starts = starts, .dropout = source ? drop.p() : 0.0, .generator = source};
  const Tensor qkv = project(x, dropout);
  if (!may_be_watched())
    return drop(mix(scaled_dot_product_attention(qkv, n_head_, options), dropout), dropout);
  const auto [q, k, v] = split(qkv);
  return output(drop(mix(merge_heads(attention(*this, q, k, v, options)), dropout), dropout));
}

KVCache MultiHeadAttention::make_cache(int64_t batch, int64_t capacity) const {
  return make_kv_cache(batch, n_head_, capacity, c_attn.weight.size(1) / n_head_, c_attn.weight.dtype());
}

Tensor MultiHeadAttention::decode(const Tensor& x, KVCache& cache) const {
  check_decodes(causal_);
  const NoGrad no_grad;
  const auto [q, k, v] = split(project(x));
  cache.append(k, v);
  const Tensor y = attention(*this, q, cache.keys(), cache.values(), {.causal = true}, &cache);
  return output(mix(merge_heads(y)));
}

// -- GroupedQueryAttention

GroupedQueryAttention::GroupedQueryAttention(int64_t n_embd, int64_t n_head, int64_t n_kv_head,
                                             Generator& generator,
                                             const GroupedQueryAttentionOptions& options)
    : GroupedQueryAttention(n_embd, n_head, n_kv_head,
                            checked_head_size(n_embd, n_head, n_kv_head, options.head_size), generator,
                            options) {}

GroupedQueryAttention::GroupedQueryAttention(int64_t n_embd, int64_t n_head, int64_t n_kv_head, int64_t hs,
                                             Generator& generator,
                                             const GroupedQueryAttentionOptions& options)
    : q_proj(n_embd, n_head * hs, generator, {.bias = options.bias}),
      k_proj(n_embd, n_kv_head * hs, generator, {.bias = options.bias}),
      v_proj(n_embd, n_kv_head * hs, generator, {.bias = options.bias}),
      o_proj(n_head * hs, n_embd, generator, {.bias = options.projection_bias}),
      drop(options.dropout),
      kv_heads_(n_kv_head),
      head_size_(hs),
      options_(options) {
  if (!options_.rope_frequencies.defined())
    options_.rope_frequencies = rotary_frequencies(hs, options.rope_theta);
  if (!options.qk_norm) return;
  q_norm.emplace(head_size_, RMSNormOptions{options.norm_eps, options.unit_offset});
  k_norm.emplace(head_size_, RMSNormOptions{options.norm_eps, options.unit_offset});
}

GroupedQueryAttention::Heads GroupedQueryAttention::project(const Tensor& x, int64_t start,
                                                            Generator* dropout) const {
  check_sequence(x);
  const auto heads = [&](const Tensor& projected, const std::optional<RMSNorm>& norm) {
    const Tensor split =
        projected.reshape({x.size(0), x.size(1), projected.size(2) / head_size_, head_size_});
    return (norm ? (*norm)(split) : split).transpose(1, 2);
  };
  const auto rotated = [&](const Tensor& h) {
    return rotary_embedding(h, start, options_.rope_frequencies, options_.rope_scale);
  };
  const Tensor q = rotated(heads(q_proj(x, dropout), q_norm));
  const Tensor k = rotated(heads(k_proj(x, dropout), k_norm));
  return {point("q", q), point("k", k), point("v", heads(v_proj(x, dropout), {}))};
}

Tensor GroupedQueryAttention::mix(const Tensor& heads, Generator* dropout) const {
  return o_proj(with_head_points(*this, merge_heads(heads), heads.size(1)), dropout);
}

Tensor GroupedQueryAttention::operator()(const Tensor& x, Generator* dropout, const Tensor& starts) const {
  Generator* const source = dropout_source(drop.p(), training(), dropout);
  const auto [q, k, v] = project(x, 0, dropout);
  const AttentionOptions options{.causal = options_.causal,
                                 .window = options_.window,
                                 .starts = starts,
                                 .dropout = source ? drop.p() : 0.0,
                                 .generator = source,
                                 .enable_gqa = true};
  return output(drop(mix(attention(*this, q, k, v, options), dropout), dropout));
}

KVCache GroupedQueryAttention::make_cache(int64_t batch, int64_t capacity) const {
  return make_kv_cache(batch, kv_heads_, capacity, head_size_, q_proj.weight.dtype());
}

Tensor GroupedQueryAttention::decode(const Tensor& x, KVCache& cache) const {
  check_decodes(options_.causal);
  const NoGrad no_grad;
  const auto [q, k, v] = project(x, cache.length);
  cache.append(k, v);
  return output(mix(attention(*this, q, cache.keys(), cache.values(),
                              {.causal = true, .window = options_.window}, &cache)));
}

}  // namespace gradus::nn
