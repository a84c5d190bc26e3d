// BlockDecoder: what all decoders have in common. Private to models.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "gradus/autograd/ops/ops.hpp"
#include "gradus/models/decoder.hpp"
#include "gradus/nn/layers.hpp"

namespace gradus::models {

/// r = x + mix(x), then r + transform(r), with the block's points: resid_pre, resid_mid, and its output.
template <class Mix, class Transform>
Tensor residual_block(const nn::Module& block, const Tensor& x, const Mix& mix, const Transform& transform) {
  const Tensor pre = block.point("resid_pre", x);
  const Tensor mid = block.point("resid_mid", pre + mix(pre));
  return block.output(mid + transform(mid));
}

/// An embedding of tokens, blocks, a norm, and an output projection, with the names of Llama's files.
template <class Block, class Norm = nn::RMSNorm>
class BlockDecoder : public Backbone {
 public:
  Tensor logits(const Tensor& features) const override {
    const Tensor x = norm(features);
    return lm_head ? (*lm_head)(x) : linear(x, embed_tokens.weight);
  }
  Tensor logit_share(const Tensor& part, const Tensor& features, const Tensor& tokens) const override {
    const Tensor& head = lm_head ? lm_head->weight : embed_tokens.weight;
    return sum(norm.share(part, features) * embedding(head, tokens), {-1});
  }
  void visit(nn::Visitor& v) override {
    v("model.embed_tokens", embed_tokens)("drop", drop)("model.layers", layers)("model.norm", norm);
    v("lm_head", lm_head, nn::Role::head);
  }

  nn::Embedding embed_tokens;         ///< (V, C)
  nn::Dropout drop;                   ///< of the embeddings
  std::vector<Block> layers;          ///< n_layer of them
  Norm norm;                          ///< before the output projection
  std::optional<nn::Linear> lm_head;  ///< C -> V; none if it is tied to embed_tokens

 protected:
  BlockDecoder(const DecoderConfig& config, Generator& init, Norm last)
      : embed_tokens(config.vocab_size, config.n_embd, init), drop(config.dropout), norm(std::move(last)) {}
  /// Makes block i by make_block(i), then the output projection.
  template <class MakeBlock>
  void add_blocks(const DecoderConfig& config, Generator& init, const MakeBlock& make_block) {
    for (int64_t i = 0; i < config.n_layer; ++i) layers.push_back(make_block(i));
    if (!config.tie_word_embeddings)
      lm_head.emplace(config.n_embd, config.vocab_size, init, nn::LinearOptions{.bias = false});
  }
  /// The output of the last block for embeddings: (B, T, C) -> (B, T, C).
  Tensor through_blocks(const Tensor& embedded, Generator* dropout, const Tensor& starts) const {
    Tensor x = drop(embedded, dropout);
    for (const Block& layer : layers) x = layer(x, dropout, starts);
    return x;
  }
};

}  // namespace gradus::models
