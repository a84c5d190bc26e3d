#include "gradus/models/gpt.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "gradus/autograd/graph/record.hpp"
#include "gradus/autograd/ops/ops.hpp"
#include "gradus/nn/init.hpp"

namespace gradus::models {
namespace {

constexpr double kInitStd = 0.02;

const GPTConfig& checked(const GPTConfig& config) {
  config.validate();
  return config;
}

Norm make_norm(const GPTConfig& config) {
  if (config.arch == Arch::llama) return nn::RMSNorm(config.n_embd, {.eps = config.norm_eps});
  return nn::LayerNorm(config.n_embd, {.eps = config.norm_eps, .bias = config.bias});
}

Attention make_attention(const GPTConfig& config, Generator& generator) {
  if (config.arch == Arch::llama)
    return nn::GroupedQueryAttention(config.n_embd, config.n_head, config.kv_heads(), generator,
                                     {.rope_theta = config.rope_theta,
                                      .qk_norm = config.qk_norm,
                                      .norm_eps = config.norm_eps,
                                      .dropout = config.dropout});
  return nn::MultiHeadAttention(
      config.n_embd, config.n_head, generator,
      {.bias = config.bias, .projection_bias = config.bias, .dropout = config.dropout});
}

FeedForward make_mlp(const GPTConfig& config, Generator& generator) {
  if (config.arch == Arch::llama)
    return nn::SwiGLU(config.n_embd, config.inner(), generator, {.dropout = config.dropout});
  return nn::MLP(config.n_embd, config.inner(), generator, {.bias = config.bias, .dropout = config.dropout});
}

bool ends_in_stream(std::string_view name) {
  return name.ends_with("c_proj.weight") || name.ends_with("o_proj.weight") ||
         name.ends_with("down_proj.weight");
}

// Radford et al., 2019, section 2.3: the residual stream sums 2 n_layer projections, so each starts smaller.
void gpt2_init(GPT& model, Generator& generator) {
  const double residual_std = kInitStd / std::sqrt(2.0 * static_cast<double>(model.config().n_layer));
  for (auto& [name, parameter] : model.named_parameters()) {
    if (parameter.dim() == 2) {
      nn::normal_(parameter, 0.0, ends_in_stream(name) ? residual_std : kInitStd, generator);
    } else if (std::string_view(name).ends_with(".bias")) {
      nn::zeros_(parameter);
    }
  }
}

}  // namespace

Block::Block(const GPTConfig& config, Generator& generator)
    : ln_1(make_norm(config)),
      attn(make_attention(config, generator)),
      ln_2(make_norm(config)),
      mlp(make_mlp(config, generator)),
      arch_(config.arch) {}

Tensor Block::operator()(const Tensor& x, Generator* dropout) const {
  const Tensor y = x + attn(ln_1(x), dropout);
  return y + mlp(ln_2(y), dropout);
}

Tensor Block::decode(const Tensor& x, nn::KVCache& cache) const {
  const Tensor y = x + attn.apply([&](const auto& layer) { return layer.decode(ln_1(x), cache); });
  return y + mlp.apply([&](const auto& layer) { return layer.without_dropout(ln_2(y)); });
}

void Block::visit(nn::Visitor& v) {
  if (arch_ == Arch::gpt2) {
    v("ln_1", ln_1.module())("attn", attn.module())("ln_2", ln_2.module())("mlp", mlp.module());
  } else {
    v("input_layernorm", ln_1.module())("self_attn", attn.module());
    v("post_attention_layernorm", ln_2.module())("mlp", mlp.module());
  }
}

void GPTCache::truncate(int64_t end) {
  for (nn::KVCache& layer : layers) layer.truncate(end);
  length = std::min(length, end);
}

GPT::GPT(const GPTConfig& config, Generator& init)
    : wte(checked(config).vocab_size, config.n_embd, init),
      drop(config.dropout),
      ln_f(make_norm(config)),
      config_(config) {
  if (config.arch == Arch::gpt2) wpe.emplace(config.block_size, config.n_embd, init);
  h.reserve(static_cast<size_t>(config.n_layer));
  for (int64_t i = 0; i < config.n_layer; ++i) h.emplace_back(config, init);
  if (!config.tie_word_embeddings)
    lm_head.emplace(config.n_embd, config.vocab_size, init, nn::LinearOptions{.bias = false});
  gpt2_init(*this, init);
}

Tensor GPT::embed(const Tensor& idx, int64_t start) const {
  if (idx.dim() != 2) fail("gpt", "idx must be (B, T), got ", idx.shape(), ".");
  const int64_t end = start + idx.size(1);
  if (idx.size(1) < 1 || end > config_.block_size) {
    fail("gpt", "a sequence must have 1 to block_size = ", config_.block_size, " tokens, got ", end,
         ". Hint: cut it, or train a model with a longer block.");
  }
  if (!wpe) return wte(idx);  // (B, T, C)
  const Tensor positions = is_storage(wpe->weight.dtype())
                               ? (*wpe)(arange(static_cast<double>(start), static_cast<double>(end)))
                               : wpe->weight.slice(0, start, end);  // (T, C)
  return wte(idx) + positions;
}

Tensor GPT::logits(const Tensor& x) const {
  const Tensor normed = ln_f(x);
  return lm_head ? (*lm_head)(normed) : linear(normed, wte.weight);
}

void GPT::visit(nn::Visitor& v) {
  if (config_.arch == Arch::gpt2)
    v("wte", wte)("wpe", wpe)("drop", drop)("h", h)("ln_f", ln_f.module());
  else
    v("model.embed_tokens", wte)("drop", drop)("model.layers", h)("model.norm", ln_f.module());
  v("lm_head", lm_head, nn::Role::head);
}

Tensor GPT::operator()(const Tensor& idx, Generator* dropout) const {
  Tensor x = drop(embed(idx, 0), dropout);  // (B, T, C)
  for (const Block& block : h) x = block(x, dropout);
  return logits(x);  // (B, T, V)
}

Tensor GPT::loss(const Tensor& idx, const Tensor& targets, Generator* dropout) const {
  if (targets.shape() != idx.shape())
    fail("gpt", "targets must have the shape of idx, got ", targets.shape(), " and ", idx.shape(), ".");
  return cross_entropy((*this)(idx, dropout).reshape({-1, config_.vocab_size}), targets.reshape({-1}));
}

GPTCache GPT::make_cache(int64_t batch) const {
  GPTCache cache;
  for (const Block& block : h)
    cache.layers.push_back(
        block.attn.apply([&](const auto& layer) { return layer.make_cache(batch, config_.block_size); }));
  return cache;
}

Tensor GPT::continued(const Tensor& idx, GPTCache& cache) const {
  Tensor x = embed(idx, cache.length);
  for (size_t i = 0; i < h.size(); ++i) x = h[i].decode(x, cache.layers[i]);
  cache.length += idx.size(1);
  return x;
}

Tensor GPT::decode(const Tensor& idx, GPTCache& cache) const {
  const NoGrad no_grad;
  return logits(continued(idx, cache).select(1, -1));  // only the last position: (B, C) -> (B, V)
}

Tensor GPT::decode_all(const Tensor& idx, GPTCache& cache) const {
  const NoGrad no_grad;
  return logits(continued(idx, cache));
}

}  // namespace gradus::models
