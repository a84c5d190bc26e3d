// Decoder: a model of the next token, blocks between a token embedding and a projection to logits. The config
// names the architecture that the blocks have; gpt2.cpp, llama.cpp and others implement one each.
//
// Ownership and thread-safety as in nn/module.hpp; a DecodingState belongs to one batch of sequences.
#pragma once

#include <memory>

#include "gradus/autograd/random/random.hpp"
#include "gradus/models/decoder_config.hpp"
#include "gradus/nn/module.hpp"

namespace gradus::models {

/// What a decoder remembers of a batch of sequences so that it computes only new positions. Each architecture
/// has a kind for itself.
class DecodingState {
 public:
  virtual ~DecodingState() = default;
  /// Forgets the positions from `end` on. Throws Error if a recurrent decoder cannot go back there.
  virtual void truncate(int64_t end) = 0;
  void clear() { truncate(0); }  ///< forgets all positions, keeps the memory

  int64_t length = 0;  ///< positions read
};

/// What an architecture implements: the parts of a Decoder, with the names of its parameters in files.
class Backbone : public nn::Module {
 public:
  /// What the blocks make of tokens. idx: (B, T) int64 -> (B, T, C). Throws Error for tokens outside [0, V).
  virtual Tensor features(const Tensor& idx, Generator* dropout) const = 0;
  /// Of features, by the last norm and the output projection: (..., C) -> (..., V).
  virtual Tensor logits(const Tensor& features) const = 0;

  /// An empty state for `batch` sequences.
  virtual std::unique_ptr<DecodingState> make_state(int64_t batch) const = 0;
  /// Features of the T tokens that follow state.length others, which `state` then has read too (its length
  /// is set by the caller). Without dropout. idx: (B, T) -> (B, T, C).
  virtual Tensor next_features(const Tensor& idx, DecodingState& state) const = 0;

  /// A copy that shares the parameters.
  virtual std::unique_ptr<Backbone> clone() const = 0;
};

/// The model of the architecture config.arch, with the initial values of its layers. Throws Error if the
/// config is not valid.
std::unique_ptr<Backbone> make_backbone(const DecoderConfig& config, Generator& init);

class Decoder : public nn::Module {
 public:
  /// GPT-2's initial values: weights normal(0, 0.02), the two projections of a block that end in the residual
  /// stream normal(0, 0.02 / sqrt(2 n_layer)), biases 0. Throws Error if the config is not valid.
  Decoder(const DecoderConfig& config, Generator& init);
  Decoder(const Decoder& other);  ///< shares the parameters
  Decoder(Decoder&&) = default;
  Decoder& operator=(Decoder&&) = default;

  /// Logits of the next token at each position. idx: (B, T) int64 -> (B, T, V). Throws Error unless 1 <= T <=
  /// config().context_limit() and all tokens are in [0, V), and in training mode with dropout > 0 if
  /// `dropout` is null.
  Tensor operator()(const Tensor& idx, Generator* dropout = nullptr) const;
  /// Mean cross-entropy, nats a token. idx, targets: (B, T) int64 -> (). Targets of -100 do not count. Throws
  /// as above.
  Tensor loss(const Tensor& idx, const Tensor& targets, Generator* dropout = nullptr) const;

  /// An empty state for `batch` sequences.
  std::unique_ptr<DecodingState> make_state(int64_t batch = 1) const { return backbone_->make_state(batch); }
  /// Logits of the token after the last one given, continuing the sequences of `state`: what a full forward
  /// in evaluation mode gives at its last position, up to rounding. Never drops, is not recorded. idx: (B, T)
  /// -> (B, V). Throws Error if the sequences would exceed config().context_limit().
  Tensor decode(const Tensor& idx, DecodingState& state) const;
  /// The same at each position given: (B, T) -> (B, T, V). With can_draft(), one sequence of up to
  /// nn::kFewPositions tokens gives the bits of as many calls of decode() with a token each.
  Tensor decode_all(const Tensor& idx, DecodingState& state) const;
  /// Whether tokens can be read ahead and dropped from the state again, with the same bits: not by a
  /// recurrent decoder, nor with matrices of fewer than 400 weights.
  bool can_draft() const;

  const DecoderConfig& config() const { return config_; }  ///< as it was given
  void visit(nn::Visitor& v) override { backbone_->visit(v); }

 private:
  Tensor next_features(const Tensor& idx, DecodingState& state) const;

  DecoderConfig config_;
  std::unique_ptr<Backbone> backbone_;
};

}  // namespace gradus::models
