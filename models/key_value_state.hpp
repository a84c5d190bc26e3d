// KeyValueState: the decoding state of decoders with attention. Private to models.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "gradus/models/architecture.hpp"
#include "gradus/nn/attention.hpp"

namespace gradus::models {

struct KeyValueState final : DecodingState {
  std::vector<nn::KVCache> layers;  ///< one per block

  void truncate(int64_t end) override {
    for (nn::KVCache& layer : layers) layer.truncate(end);
    length = std::min(length, end);
  }
};

/// An empty state of `blocks` that have an `attn`, for up to `capacity` positions.
template <class Block>
std::unique_ptr<DecodingState> make_key_value_state(const std::vector<Block>& blocks, int64_t batch,
                                                    int64_t capacity) {
  auto state = std::make_unique<KeyValueState>();
  for (const Block& block : blocks) state->layers.push_back(block.attn.make_cache(batch, capacity));
  return state;
}

/// Applies blocks that have decode(x, cache) to T more positions: (B, T, C) -> (B, T, C).
template <class Block>
Tensor decode_blocks(const std::vector<Block>& blocks, Tensor x, DecodingState& state) {
  auto& layers = dynamic_cast<KeyValueState&>(state).layers;
  for (size_t i = 0; i < blocks.size(); ++i) x = blocks[i].decode(x, layers[i]);
  return x;
}

/// The part of DecoderCost that does not depend on the MLP: a block saves inputs and outputs of both norms (4
/// C), q, k, v, the heads' output (C), and the log-sum-exp of each head.
inline DecoderCost attention_cost(const DecoderConfig& config) {
  const auto C = static_cast<double>(config.n_embd), heads = static_cast<double>(config.n_head),
             size = static_cast<double>(config.head_size());
  const double kv = size * static_cast<double>(config.kv_heads());
  return {.saved = 4 * C + 2 * heads * size + 2 * kv + heads,
          .decoding = 2 * C,
          .position = 2 * kv * static_cast<double>(config.n_layer)};
}

/// The features of a token's queries and keys together.
inline double query_key_size(const DecoderConfig& config) {
  return static_cast<double>(config.head_size() * (config.n_head + config.kv_heads()));
}

}  // namespace gradus::models
