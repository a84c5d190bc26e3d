// GPT: a decoder made of parts, pre-norm blocks between a token embedding and a projection to logits. Of
// GPT-2's shape (Radford et al., 2019): learned positions, LayerNorm, gelu in its tanh form; or of Llama's
// (Touvron et al., arXiv 2302.13971): rotary positions, RMSNorm, SwiGLU, heads that share keys and values.
// Parameters have the names of GPT-2's files, or of Llama's.
//
// Ownership and thread-safety as in nn/module.hpp; a GPTCache belongs to one batch of sequences.
#pragma once

#include <optional>
#include <vector>

#include "gradus/autograd/random/random.hpp"
#include "gradus/models/gpt_config.hpp"
#include "gradus/nn/attention.hpp"
#include "gradus/nn/dropout.hpp"
#include "gradus/nn/embedding.hpp"
#include "gradus/nn/grouped_query_attention.hpp"
#include "gradus/nn/layer_norm.hpp"
#include "gradus/nn/linear.hpp"
#include "gradus/nn/mlp.hpp"
#include "gradus/nn/module.hpp"
#include "gradus/nn/one_of.hpp"
#include "gradus/nn/rms_norm.hpp"
#include "gradus/nn/swiglu.hpp"

namespace gradus::models {

using Norm = nn::OneOf<nn::LayerNorm, nn::RMSNorm>;                              ///< of gpt2, of llama
using Attention = nn::OneOf<nn::MultiHeadAttention, nn::GroupedQueryAttention>;  ///< likewise
using FeedForward = nn::OneOf<nn::MLP, nn::SwiGLU>;                              ///< likewise

/// One layer: x -> y = x + attn(ln_1(x)) -> y + mlp(ln_2(y)).
class Block : public nn::Module {
 public:
  /// With the initial values of its layers, which GPT replaces. Throws Error as they do.
  Block(const GPTConfig& config, Generator& generator);

  Tensor operator()(const Tensor& x, Generator* dropout = nullptr) const;  ///< (B, T, C) -> (B, T, C)
  Tensor decode(const Tensor& x, nn::KVCache& cache) const;                ///< see MultiHeadAttention::decode
  void visit(nn::Visitor& v) override;

  Norm ln_1;        ///< before attn
  Attention attn;   ///< causal
  Norm ln_2;        ///< before mlp
  FeedForward mlp;  ///< config.inner() features inside

 private:
  Arch arch_;
};

/// Keys and values of all layers.
struct GPTCache {
  std::vector<nn::KVCache> layers;  ///< the first block's first
  int64_t length = 0;               ///< positions seen

  void clear() { truncate(0); }  ///< forgets all positions, keeps the memory
  void truncate(int64_t end);    ///< forgets those from `end` on
};

class GPT : public nn::Module {
 public:
  /// GPT-2's initial values: weights normal(0, 0.02), the two projections that end in the residual stream
  /// normal(0, 0.02 / sqrt(2 n_layer)), biases 0. Throws Error if the config is not valid.
  GPT(const GPTConfig& config, Generator& init);

  /// Logits of the next token at each position. idx: (B, T) int64 -> (B, T, V). Throws Error unless 1 <= T <=
  /// block_size and all tokens are in [0, V), and in training mode with dropout > 0 if `dropout` is null.
  Tensor operator()(const Tensor& idx, Generator* dropout = nullptr) const;
  /// Mean cross-entropy, nats a token. idx, targets: (B, T) int64 -> (). Targets of -100 do not count. Throws
  /// as above.
  Tensor loss(const Tensor& idx, const Tensor& targets, Generator* dropout = nullptr) const;

  /// An empty cache for `batch` sequences of up to block_size tokens.
  GPTCache make_cache(int64_t batch = 1) const;
  /// Logits of the token after the last one given, continuing the cached sequences: what a full forward in
  /// evaluation mode gives at its last position, up to rounding. Never drops, is not recorded. idx: (B, T) ->
  /// (B, V). Throws Error if the cache would grow beyond block_size.
  Tensor decode(const Tensor& idx, GPTCache& cache) const;
  /// The same at each position given: (B, T) -> (B, T, V). One sequence of up to nn::kFewPositions gives the
  /// bits of as many calls of decode() with a token each, if no matrix has fewer than 400 weights.
  Tensor decode_all(const Tensor& idx, GPTCache& cache) const;

  const GPTConfig& config() const { return config_; }  ///< as it was given
  void visit(nn::Visitor& v) override;

  nn::Embedding wte;                  ///< tokens, (V, C)
  std::optional<nn::Embedding> wpe;   ///< positions, (block_size, C); none where they are rotary
  nn::Dropout drop;                   ///< of what the embeddings add up to
  std::vector<Block> h;               ///< n_layer of them
  Norm ln_f;                          ///< before the output projection
  std::optional<nn::Linear> lm_head;  ///< C -> V; where it is tied there is none, and wte serves

 private:
  Tensor embed(const Tensor& idx, int64_t start) const;  ///< (B, T) at positions start, ... -> (B, T, C)
  Tensor logits(const Tensor& x) const;                  ///< (..., C) -> (..., V)
  Tensor continued(const Tensor& idx, GPTCache& cache) const;  ///< (B, T) -> (B, T, C)
  GPTConfig config_;
};

}  // namespace gradus::models
