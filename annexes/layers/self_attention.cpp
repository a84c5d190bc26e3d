#include "gradus/annexes/layers/self_attention.hpp"

#include <cmath>

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/autograd/ops/products/attention.hpp"

namespace gradus::nn {
namespace {

const SelfAttentionOptions& checked(int64_t d_in, int64_t d_out, const SelfAttentionOptions& o) {
  if (d_in < 1 || d_out < 1)
    fail("self_attention", "d_in and d_out must be >= 1, got ", d_in, " and ", d_out, ".");
  if (o.num_heads < 1 || d_out % o.num_heads != 0)
    fail("self_attention", "num_heads must divide d_out, got num_heads ", o.num_heads, " and d_out ", d_out,
         ".");
  if (o.context_length < 0)
    fail("self_attention", "context_length must be >= 0, got ", o.context_length, ".");
  if (o.num_heads > 1 && (o.row_dim != -2 || o.col_dim != -1))
    fail("self_attention", "several heads need row_dim -2 and col_dim -1, got ", o.row_dim, " and ",
         o.col_dim, ".");
  return o;
}

void check_input(const Tensor& x, int64_t d_in, int64_t context_length) {
  if (!x.defined() || x.dim() < 2 || x.size(-1) != d_in)
    fail("self_attention", "x must be (..., T, ", d_in, "), got ", x.defined() ? concat(x.shape()) : "none",
         ".");
  if (context_length > 0 && x.size(-2) > context_length)
    fail("self_attention", "x must have at most context_length = ", context_length, " tokens, got ",
         x.size(-2), ".");
}

Tensor scores_along(const Tensor& q, const Tensor& k, bool scaled, int64_t row_dim, int64_t col_dim) {
  const Tensor scores = matmul(q, k.transpose(row_dim, col_dim));
  return scaled ? scores / std::sqrt(static_cast<double>(k.size(col_dim))) : scores;
}

}  // namespace

Tensor causal_mask(int64_t tokens) { return triu(ones({tokens, tokens}), /*diagonal=*/1).to(DType::boolean); }

Tensor attention_scores(const Tensor& q, const Tensor& k, bool scaled) {
  return scores_along(q, k, scaled, -2, -1);
}

Tensor attention_weights(const Tensor& scores, const Tensor& mask, const SelfAttentionOptions& o) {
  const bool on_scores = mask.defined() && o.mask_on == MaskOn::scores;
  const double fill = o.safe ? -std::numeric_limits<double>::infinity() : o.fill;
  const Tensor seen = on_scores ? masked_fill(scores, mask, fill) : scores;
  const Tensor weights = o.safe ? safe_softmax(seen, o.col_dim) : softmax(seen, o.col_dim);
  if (!mask.defined() || o.mask_on != MaskOn::weights) return weights;

  const Tensor masked = weights * (1.0 - mask.to(scores.dtype()));
  const Tensor sums = sum(masked, {o.col_dim}, /*keepdim=*/true);
  return masked / (o.safe ? masked_fill(sums, eq(sums, 0.0), 1.0) : sums);
}

Tensor context_vector(const Tensor& x_query, const Tensor& x, const Tensor& W_query, const Tensor& W_key,
                      const Tensor& W_value) {
  const Tensor query = matmul(x_query, W_query);
  const Tensor keys = matmul(x, W_key), values = matmul(x, W_value);
  const Tensor scores = matmul(query, keys.transpose(0, 1));
  const Tensor weights = softmax(scores / std::sqrt(static_cast<double>(keys.size(-1))), -1);
  return matmul(weights, values);
}

SelfAttention::SelfAttention(int64_t d_in, int64_t d_out, Generator& generator,
                             const SelfAttentionOptions& options)
    : W_query(d_in, d_out, generator, {.bias = checked(d_in, d_out, options).bias}),
      W_key(d_in, d_out, generator, {.bias = options.bias}),
      W_value(d_in, d_out, generator, {.bias = options.bias}),
      drop(options.dropout),
      options_(options) {
  if (options.projection) out.emplace(d_out, d_out, generator, LinearOptions{.bias = options.bias});
}

Tensor SelfAttention::operator()(const Tensor& x, Generator* dropout) const {
  check_input(x, W_query.weight.size(1), options_.context_length);
  return (*this)(x, options_.mask_on == MaskOn::nothing ? Tensor() : causal_mask(x.size(-2)), dropout);
}

Tensor SelfAttention::operator()(const Tensor& x, const Tensor& mask, Generator* dropout) const {
  check_input(x, W_query.weight.size(1), options_.context_length);
  if (mask.defined() && options_.mask_on == MaskOn::nothing)
    fail("self_attention", "mask_on must be scores or weights with a mask, got nothing and a mask of shape ",
         mask.shape(), ".");
  const int64_t nh = options_.num_heads;
  const auto split = [nh](const Tensor& y) { return nh == 1 ? y : split_heads(y, nh); };
  const Tensor queries = point("q", split(W_query(x, dropout)));
  const Tensor keys = point("k", split(W_key(x, dropout)));
  const Tensor values = point("v", split(W_value(x, dropout)));

  const Tensor scores =
      point("scores", scores_along(queries, keys, options_.scaled, options_.row_dim, options_.col_dim));
  const Tensor weights = drop(point("pattern", attention_weights(scores, mask, options_)), dropout);
  const Tensor heads = matmul(weights, values);
  const Tensor context = point("context", nh == 1 ? heads : merge_heads(heads));
  return output(out ? (*out)(context, dropout) : context);
}

StackedHeads::StackedHeads(int64_t d_in, int64_t d_out, int64_t num_heads, Generator& generator,
                           const SelfAttentionOptions& head) {
  if (num_heads < 1) fail("stacked_heads", "num_heads must be >= 1, got ", num_heads, ".");
  if (head.num_heads != 1)
    fail("stacked_heads", "each of the heads must have num_heads 1, got ", head.num_heads, ".");
  for (int64_t i = 0; i < num_heads; ++i) heads.emplace_back(d_in, d_out, generator, head);
}

Tensor StackedHeads::operator()(const Tensor& x, Generator* dropout) const {
  std::vector<Tensor> contexts;
  for (const SelfAttention& head : heads) contexts.push_back(head(x, dropout));
  return output(cat(contexts, -1));
}

}  // namespace gradus::nn
