// A decoder of blocks with rotary attention, which Llama and Gemma share, and functions of RopeScaling.
// Private to models. Stateless.
#pragma once

#include <memory>

#include "gradus/models/architecture.hpp"
#include "gradus/models/block_decoder.hpp"
#include "gradus/models/key_value_state.hpp"

namespace gradus::models {

/// The rotary frequencies of a config, float64 (hs / 2): linear divides them by the factor (Chen et al.,
/// arXiv 2306.15595), llama3 the low ones (Llama 3.1's model card), yarn those of long waves (Peng et al.,
/// arXiv 2309.00071, section 3.2).
Tensor scaled_frequencies(const DecoderConfig& config);

/// Throws Error if the config's scaling is not valid.
void check_rope(const DecoderConfig& config);
/// Throws Error unless layers without biases can have the heads, angles and windows of the config.
void check_rotary(const DecoderConfig& config);

/// A decoder of blocks that have an `attn`.
template <class Block>
class RotaryDecoder final : public BlockDecoder<Block> {
 public:
  /// Multiplies embeddings by `scale`.
  RotaryDecoder(const DecoderConfig& config, Generator& init, const nn::RMSNormOptions& last, double scale)
      : BlockDecoder<Block>(config, init, nn::RMSNorm(config.n_embd, last)),
        scale_(scale),
        block_size_(config.block_size) {
    this->add_blocks(config, init, [&](int64_t i) { return Block(config, i, init); });
  }

  Tensor features(const Tensor& idx, Generator* dropout, const Tensor& starts) const override {
    return this->through_blocks(embedded(idx), dropout, starts);
  }
  std::unique_ptr<DecodingState> make_state(int64_t batch) const override {
    return make_key_value_state(this->layers, batch, block_size_);
  }
  Tensor next_features(const Tensor& idx, DecodingState& state) const override {
    return decode_blocks(this->layers, embedded(idx), state);
  }
  std::unique_ptr<Backbone> clone() const override { return std::make_unique<RotaryDecoder>(*this); }

 private:
  Tensor embedded(const Tensor& idx) const {
    return scale_ == 1.0 ? this->embed_tokens(idx) : this->embed_tokens(idx) * scale_;
  }

  double scale_;
  int64_t block_size_;  // most positions of a sequence
};

}  // namespace gradus::models
