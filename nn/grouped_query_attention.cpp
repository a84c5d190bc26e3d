#include "gradus/nn/grouped_query_attention.hpp"

#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/ops/ops.hpp"

namespace gradus::nn {
namespace {

const GroupedQueryAttentionOptions& checked(const GroupedQueryAttentionOptions& o) {
  if (o.n_embd < 1 || o.n_head < 1 || o.n_embd % o.n_head != 0 || o.n_embd / o.n_head % 2 != 0)
    fail("attention", "n_head must divide n_embd into heads of an even size, got n_head ", o.n_head,
         " and n_embd ", o.n_embd, ".");
  if (o.n_kv_head < 1 || o.n_head % o.n_kv_head != 0)
    fail("attention", "n_kv_head must divide n_head, got n_kv_head ", o.n_kv_head, " and n_head ", o.n_head,
         ".");
  return o;
}

int64_t kv_width(const GroupedQueryAttentionOptions& o) { return o.n_embd / o.n_head * o.n_kv_head; }

}  // namespace

GroupedQueryAttention::GroupedQueryAttention(const GroupedQueryAttentionOptions& options,
                                             Generator& generator)
    : q_proj(checked(options).n_embd, options.n_embd, false, generator),
      k_proj(options.n_embd, kv_width(options), false, generator),
      v_proj(options.n_embd, kv_width(options), false, generator),
      o_proj(options.n_embd, options.n_embd, false, generator),
      drop(options.dropout),
      options_(options) {
  if (!options.qk_norm) return;
  q_norm.emplace(options.n_embd / options.n_head, options.norm_eps);
  k_norm.emplace(options.n_embd / options.n_head, options.norm_eps);
}

GroupedQueryAttention::Heads GroupedQueryAttention::project(const Tensor& x, int64_t start) const {
  if (x.dim() != 3) fail("attention", "x must be (B, T, C), got ", x.shape(), ".");
  const int64_t hs = options_.n_embd / options_.n_head;
  const auto heads = [&](const Tensor& projected, const std::optional<RMSNorm>& norm) {
    const Tensor split = projected.reshape({x.size(0), x.size(1), projected.size(2) / hs, hs});
    return (norm ? (*norm)(split) : split).transpose(1, 2);
  };
  const auto turned = [&](const Tensor& of) { return rotary_embedding(of, start, options_.rope_theta); };
  const Tensor q = turned(heads(q_proj(x), q_norm));
  const Tensor k = turned(heads(k_proj(x), k_norm));
  return {q, k, heads(v_proj(x), {})};
}

Tensor GroupedQueryAttention::mix(const Tensor& heads) const {
  return o_proj(heads.transpose(1, 2).reshape({heads.size(0), heads.size(2), options_.n_embd}));
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
  return make_kv_cache(batch, options_.n_kv_head, capacity, options_.n_embd / options_.n_head,
                       q_proj.weight.dtype());
}

Tensor GroupedQueryAttention::step(const Tensor& x, KVCache& cache) const {
  if (!options_.causal)
    fail("attention", "only causal attention can be continued from a cache, got causal = false.");
  const NoGrad no_grad;
  const Heads of = project(x, cache.length);
  cache.append(of.k, of.v);
  return mix(attend(of.q, cache));
}

}  // namespace gradus::nn
