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

}  // namespace

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
  if (x.dim() != 3) fail("attention", "x must be (B, T, C), got ", x.shape(), ".");
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
  if (!causal_) fail("attention", "only causal attention can be continued from a cache, got causal = false.");
  const NoGrad no_grad;
  const std::vector<Tensor> qkv = project(x).split(x.size(2), -1);  // 3 x (B, T, C)
  const auto heads = [&](const Tensor& part) {
    return part.reshape({x.size(0), x.size(1), n_head_, x.size(2) / n_head_}).transpose(1, 2);
  };
  cache.append(heads(qkv[1]), heads(qkv[2]));
  const Tensor y = attend(heads(qkv[0]), cache);
  return mix(y.transpose(1, 2).reshape(x.shape()));
}

}  // namespace gradus::nn
