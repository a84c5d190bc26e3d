#include "gradus/models/gpt.hpp"

#include <cmath>
#include <string_view>

#include "gradus/autograd/ops.hpp"
#include "gradus/autograd/record.hpp"
#include "gradus/nn/init.hpp"

namespace gradus::models {
namespace {

constexpr double kInitStd = 0.02;

const GPTConfig& checked(const GPTConfig& config) {
  config.validate();
  return config;
}

nn::MultiHeadAttentionOptions attention_options(const GPTConfig& config) {
  return {.n_embd = config.n_embd,
          .n_head = config.n_head,
          .bias = config.bias,
          .projection_bias = config.bias,
          .dropout = config.dropout};
}

// Radford et al., 2019, section 2.3: the residual stream sums 2 n_layer projections, so each starts smaller.
void gpt2_init(GPT& model, Generator& generator) {
  const double residual_std = kInitStd / std::sqrt(2.0 * static_cast<double>(model.config().n_layer));
  for (auto& [name, parameter] : model.named_parameters()) {
    if (parameter.dim() == 2) {
      const bool ends_in_stream = std::string_view(name).ends_with("c_proj.weight");
      nn::normal_(parameter, 0.0, ends_in_stream ? residual_std : kInitStd, generator);
    } else if (std::string_view(name).ends_with(".bias")) {
      nn::zeros_(parameter);
    }
  }
}

}  // namespace

Block::Block(const GPTConfig& config, Generator& generator)
    : ln_1(config.n_embd, config.bias, config.layer_norm_epsilon),
      attn(attention_options(config), generator),
      ln_2(config.n_embd, config.bias, config.layer_norm_epsilon),
      mlp(config.n_embd, 4 * config.n_embd, config.bias, config.dropout, generator) {}

Tensor Block::operator()(const Tensor& x, Generator* dropout) const {
  const Tensor y = x + attn(ln_1(x), dropout);
  return y + mlp(ln_2(y), dropout);
}

Tensor Block::step(const Tensor& x, nn::KVCache& cache) const {
  const Tensor y = x + attn.step(ln_1(x), cache);
  return y + mlp.step(ln_2(y));
}

void GPTCache::clear() {
  for (nn::KVCache& layer : layers) layer.length = 0;
  length = 0;
}

GPT::GPT(const GPTConfig& config, Generator& init)
    : wte(checked(config).vocab_size, config.n_embd, init),
      wpe(config.block_size, config.n_embd, init),
      drop(config.dropout),
      ln_f(config.n_embd, config.bias, config.layer_norm_epsilon),
      config_(config) {
  h.reserve(static_cast<size_t>(config.n_layer));
  for (int64_t i = 0; i < config.n_layer; ++i) h.emplace_back(config, init);
  gpt2_init(*this, init);
}

Tensor GPT::embed(const Tensor& idx, int64_t start) const {
  if (idx.dim() != 2) fail("gpt", "idx must be (B, T), got ", idx.shape(), ".");
  const int64_t end = start + idx.size(1);
  if (idx.size(1) < 1 || end > config_.block_size) {
    fail("gpt", "a sequence must have 1 to block_size = ", config_.block_size, " tokens, got ", end,
         ". Hint: cut it, or train a model with a longer block.");
  }
  const Tensor positions = is_storage(wpe.weight.dtype())
                               ? wpe(arange(static_cast<double>(start), static_cast<double>(end)))
                               : wpe.weight.slice(0, start, end);  // (T, C)
  return wte(idx) + positions;                                     // (B, T, C)
}

Tensor GPT::operator()(const Tensor& idx, Generator* dropout) const {
  Tensor x = drop(embed(idx, 0), dropout);  // (B, T, C)
  for (const Block& block : h) x = block(x, dropout);
  return linear(ln_f(x), wte.weight);  // (B, T, V)
}

Tensor GPT::loss(const Tensor& idx, const Tensor& targets, Generator* dropout) const {
  if (targets.shape() != idx.shape())
    fail("gpt", "targets must have the shape of idx, got ", targets.shape(), " and ", idx.shape(), ".");
  return cross_entropy((*this)(idx, dropout).reshape({-1, config_.vocab_size}), targets.reshape({-1}));
}

GPTCache GPT::make_cache(int64_t batch) const {
  GPTCache cache;
  for (const Block& block : h) cache.layers.push_back(block.attn.make_cache(batch, config_.block_size));
  return cache;
}

Tensor GPT::step(const Tensor& idx, GPTCache& cache) const {
  const NoGrad no_grad;
  Tensor x = embed(idx, cache.length);
  for (size_t i = 0; i < h.size(); ++i) x = h[i].step(x, cache.layers[i]);
  cache.length += idx.size(1);
  return linear(ln_f(x.select(1, -1)), wte.weight);  // only the last position is asked for: (B, C) -> (B, V)
}

}  // namespace gradus::models
