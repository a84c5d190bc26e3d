#include "gradus/nn/grouped_query_attention.hpp"

#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/ops/ops.hpp"

namespace gradus::nn {
namespace {

int64_t checked_head_size(int64_t n_embd, int64_t n_head, int64_t n_kv_head) {
  if (n_embd < 1 || n_head < 1 || n_embd % n_head != 0 || n_embd / n_head % 2 != 0)
    fail("attention", "n_head must divide n_embd into heads of an even size, got n_head ", n_head,
         " and n_embd ", n_embd, ".");
  if (n_kv_head < 1 || n_head % n_kv_head != 0)
    fail("attention", "n_kv_head must divide n_head, got n_kv_head ", n_kv_head, " and n_head ", n_head, ".");
  return n_embd / n_head;
}

constexpr LinearOptions kNoBias{.bias = false};

}  // namespace

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
  if (x.dim() != 3) fail("attention", "x must be (B, T, C), got ", x.shape(), ".");
  const auto heads = [&](const Tensor& projected, const std::optional<RMSNorm>& norm) {
    const Tensor split =
        projected.reshape({x.size(0), x.size(1), projected.size(2) / head_size_, head_size_});
    return (norm ? (*norm)(split) : split).transpose(1, 2);
  };
  const auto rotated = [&](const Tensor& of) { return rotary_embedding(of, start, options_.rope_theta); };
  const Tensor q = rotated(heads(q_proj(x), q_norm));
  const Tensor k = rotated(heads(k_proj(x), k_norm));
  return {q, k, heads(v_proj(x), {})};
}

Tensor GroupedQueryAttention::mix(const Tensor& heads) const {
  return o_proj(heads.transpose(1, 2).reshape({heads.size(0), heads.size(2), o_proj.weight.size(0)}));
}

Tensor GroupedQueryAttention::operator()(const Tensor& x, Generator* dropout) const {
  Generator* const source = dropout_source(drop.p(), training(), dropout);
  const Heads of = project(x, 0);
  const Tensor y = scaled_dot_product_attention(of.q, of.k, of.v,
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
  if (!options_.causal)
    fail("attention", "only causal attention can be continued from a cache, got causal = false.");
  const NoGrad no_grad;
  const Heads of = project(x, cache.length);
  cache.append(of.k, of.v);
  return mix(attend(of.q, cache));
}

}  // namespace gradus::nn
