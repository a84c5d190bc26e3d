#include "gradus/annexes/layers/transformer.hpp"

#include <cmath>
#include <limits>

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/nn/init.hpp"

namespace gradus::nn {
namespace {

constexpr const char* kOp = "cross_attention";

int64_t checked_embed_dim(int64_t embed_dim, int64_t num_heads) {
  if (embed_dim < 1 || num_heads < 1 || embed_dim % num_heads != 0)
    fail(kOp, "num_heads must divide embed_dim, got num_heads ", num_heads, " and embed_dim ", embed_dim,
         ".");
  return embed_dim;
}

// Adds a mask to `sum`, which may be undefined. A bool mask adds -inf where it hides.
void add_mask(Tensor& sum, const char* which, const Tensor& mask, DType dtype) {
  const bool hides = mask.dtype() == DType::boolean;
  if (!hides && !is_floating(mask.dtype()))
    fail(kOp, which, " must be bool or float, got ", name(mask.dtype()), ".");
  const Tensor added =
      hides ? masked_fill(zeros({}, dtype), mask, -std::numeric_limits<double>::infinity()) : mask;
  sum = sum.defined() ? sum + added : added;
}

CrossAttention attention(int64_t d_model, int64_t nhead, Generator& generator,
                         const TransformerLayerOptions& o) {
  return {d_model, nhead, generator, {.dropout = o.dropout, .batch_first = o.batch_first}};
}

CrossAttentionCall masked(const Tensor& attn_mask, const Tensor& key_padding_mask, bool is_causal) {
  return {key_padding_mask, /*need_weights=*/false, attn_mask, /*average_attn_weights=*/true, is_causal};
}

}  // namespace

CrossAttention::CrossAttention(int64_t embed_dim, int64_t num_heads, Generator& generator,
                               const CrossAttentionOptions& options)
    : out_proj(checked_embed_dim(embed_dim, num_heads), embed_dim, generator, {.bias = options.bias}),
      num_heads_(num_heads),
      options_(options) {
  const Dropout checked(options.dropout);
  const int64_t kdim = options.kdim.value_or(embed_dim), vdim = options.vdim.value_or(embed_dim);
  if (kdim < 1 || vdim < 1) fail(kOp, "kdim and vdim must be >= 1, got ", kdim, " and ", vdim, ".");
  const auto xavier = [&](Tensor& x) { xavier_uniform_(x, generator); };
  if (kdim == embed_dim && vdim == embed_dim) {
    in_proj_weight = new_parameter({3 * embed_dim, embed_dim}, xavier);
  } else {
    q_proj_weight = new_parameter({embed_dim, embed_dim}, xavier);
    k_proj_weight = new_parameter({embed_dim, kdim}, xavier);
    v_proj_weight = new_parameter({embed_dim, vdim}, xavier);
  }
  if (!options.bias) return;
  in_proj_bias = new_parameter({3 * embed_dim}, zeros_);
  zeros_(out_proj.bias);
}

void CrossAttention::visit(Visitor& v) {
  v("in_proj_weight", in_proj_weight, Role::fused(3))("q_proj_weight", q_proj_weight);
  v("k_proj_weight", k_proj_weight)("v_proj_weight", v_proj_weight);
  v("in_proj_bias", in_proj_bias)("out_proj", out_proj);
}

Tensor CrossAttention::heads(int64_t part, const Tensor& x) const {
  const int64_t E = out_proj.weight.size(0), first = part * E;
  const Tensor* const separate[] = {&q_proj_weight, &k_proj_weight, &v_proj_weight};
  const Tensor weight =
      in_proj_weight.defined() ? in_proj_weight.slice(0, first, first + E) : *separate[part];
  const Tensor bias = in_proj_bias.defined() ? in_proj_bias.slice(0, first, first + E) : Tensor();
  const Tensor y = linear(x, weight, bias).reshape({x.size(0), x.size(1), num_heads_, E / num_heads_});
  return options_.batch_first ? y.transpose(1, 2) : y.permute({1, 2, 0, 3});
}

AttentionOutput CrossAttention::operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                                           const CrossAttentionCall& call, Generator* dropout) const {
  const int64_t E = out_proj.weight.size(0);
  const int64_t kdim = options_.kdim.value_or(E), vdim = options_.vdim.value_or(E);
  for (const Tensor* x : {&query, &key, &value})
    if (!x->defined() || x->dim() < 2 || x->dim() > 3 || x->dim() != query.dim())
      fail(kOp, "query, key and value must all have three dimensions, or two without a batch.");
  const bool batched = query.dim() == 3;
  const int batch_dim = options_.batch_first ? 0 : 1;
  const auto leading = [](const Tensor& x) { return Shape(x.shape().begin(), x.shape().end() - 1); };
  if (query.size(-1) != E || key.size(-1) != kdim || value.size(-1) != vdim ||
      leading(key) != leading(value) || (batched && query.size(batch_dim) != key.size(batch_dim)))
    fail(kOp, "query, key and value must have ", E, ", ", kdim, " and ", vdim,
         " features, keys and values one length, and all one batch size, got ", query.shape(), ", ",
         key.shape(), " and ", value.shape(), ".");
  const auto with_batch = [&](const Tensor& x) { return batched ? x : x.unsqueeze(batch_dim); };
  const Tensor q = heads(0, with_batch(query)), k = heads(1, with_batch(key)),
               v = heads(2, with_batch(value));
  const int64_t N = q.size(0), T = q.size(2), S = k.size(2);

  Tensor mask;
  if (call.attn_mask.defined()) {
    const Shape &given = call.attn_mask.shape(), each = {N * num_heads_, T, S};
    if (given != Shape{T, S} && given != each)
      fail(kOp, "attn_mask must be of shape ", Shape{T, S}, " or ", each, ", got ", given, ".");
    add_mask(mask, "attn_mask", call.attn_mask.reshape(given == each ? Shape{N, num_heads_, T, S} : given),
             q.dtype());
  }
  if (call.key_padding_mask.defined()) {
    const Shape wanted = batched ? Shape{N, S} : Shape{S};
    if (call.key_padding_mask.shape() != wanted)
      fail(kOp, "key_padding_mask must be of shape ", wanted, ", got ", call.key_padding_mask.shape(), ".");
    add_mask(mask, "key_padding_mask", call.key_padding_mask.reshape({N, 1, 1, S}), q.dtype());
  }
  // scaled_dot_product_attention() aligns its causal mask with the last key, PyTorch with the first.
  const bool by_formula = call.need_weights || is_watched("pattern");
  const bool only_causal = call.is_causal && !mask.defined() && T == S && !by_formula;
  if (call.is_causal && !only_causal)
    add_mask(mask, "is_causal", triu(ones({T, S}), 1).to(DType::boolean), q.dtype());

  Generator* const source = dropout_source(options_.dropout, training(), dropout);
  Tensor y, weights;
  if (by_formula) {
    const Tensor scores = matmul(q / std::sqrt(static_cast<double>(q.size(3))), k.mT());
    weights = point("pattern", safe_softmax(mask.defined() ? scores + mask : scores, -1));
    if (source) weights = gradus::dropout(weights, options_.dropout, *source);
    y = matmul(weights, v);
    if (call.average_attn_weights) weights = mean(weights, {1});
    if (!batched) weights = weights.squeeze(0);
  } else {
    y = scaled_dot_product_attention(q, k, v,
                                     {.causal = only_causal,
                                      .mask = mask,
                                      .dropout = source ? options_.dropout : 0.0,
                                      .generator = source});
  }
  const Tensor joined = options_.batch_first ? y.transpose(1, 2) : y.permute({2, 0, 1, 3});
  return {output(out_proj(joined.reshape(query.shape()), dropout)), call.need_weights ? weights : Tensor()};
}

TransformerLayer::TransformerLayer(bool is_decoder, int64_t d_model, int64_t nhead, Generator& generator,
                                   const TransformerLayerOptions& o)
    : self_attn(attention(d_model, nhead, generator, o)),
      multihead_attn(is_decoder ? std::optional(attention(d_model, nhead, generator, o)) : std::nullopt),
      linear1(d_model, o.dim_feedforward, generator),
      dropout(o.dropout),
      linear2(o.dim_feedforward, d_model, generator),
      norm1(d_model, {.eps = o.layer_norm_eps}),
      norm2(d_model, {.eps = o.layer_norm_eps}),
      dropout1(o.dropout),
      dropout2(o.dropout),
      options_(o) {
  if (!is_decoder) return;
  norm3.emplace(d_model, LayerNormOptions{.eps = o.layer_norm_eps});
  dropout3.emplace(o.dropout);
}

void TransformerLayer::visit(Visitor& v) {
  v("self_attn", self_attn)("multihead_attn", multihead_attn);
  v("linear1", linear1)("dropout", dropout)("linear2", linear2)("norm1", norm1)("norm2", norm2);
  v("norm3", norm3)("dropout1", dropout1)("dropout2", dropout2)("dropout3", dropout3);
}

Tensor TransformerLayer::run(Tensor x, const CrossAttentionCall& own, const Tensor& memory,
                             const CrossAttentionCall& cross, Generator* generator) const {
  const auto add = [&](const LayerNorm& norm, const Dropout& drop, const auto& block) {
    x = options_.norm_first ? x + drop(block(norm(x)), generator) : norm(x + drop(block(x), generator));
  };
  add(norm1, dropout1, [&](const Tensor& y) { return self_attn(y, y, y, own, generator).output; });
  if (multihead_attn)
    add(norm2, dropout2,
        [&](const Tensor& y) { return (*multihead_attn)(y, memory, memory, cross, generator).output; });
  add(norm3 ? *norm3 : norm2, dropout3 ? *dropout3 : dropout2, [&](const Tensor& y) {
    const Tensor hidden = linear1(y, generator);
    return linear2(dropout(options_.activation == FeedForward::relu ? relu(hidden) : gelu(hidden), generator),
                   generator);
  });
  return output(x);
}

Tensor TransformerEncoderLayer::operator()(const Tensor& src, const EncoderMasks& masks,
                                           Generator* generator) const {
  return run(src, masked(masks.src_mask, masks.src_key_padding_mask, masks.is_causal), {}, {}, generator);
}

Tensor TransformerDecoderLayer::operator()(const Tensor& tgt, const Tensor& memory, const DecoderMasks& masks,
                                           Generator* generator) const {
  return run(tgt, masked(masks.tgt_mask, masks.tgt_key_padding_mask, masks.tgt_is_causal), memory,
             masked(masks.memory_mask, masks.memory_key_padding_mask, masks.memory_is_causal), generator);
}

}  // namespace gradus::nn
