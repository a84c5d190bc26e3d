// Decoder: a language model that predicts the next token: a token embedding, blocks, and a projection to
// logits. The config names the architecture: one of gpt2.cpp, llama.cpp, gemma.cpp and mingru.cpp.
//
// Ownership and thread-safety as in nn/module.hpp; a DecodingState belongs to one batch of sequences.
#pragma once

#include <functional>
#include <memory>

#include "gradus/autograd/random/random.hpp"
#include "gradus/models/decoder_config.hpp"
#include "gradus/nn/module.hpp"

namespace gradus::models {

/// The state of decoding a batch of sequences, with which a decoder computes only new positions. Each
/// architecture derives its own.
class DecodingState {
 public:
  virtual ~DecodingState() = default;
  /// Forgets the positions from `end` on. Throws Error if a recurrent decoder cannot restore that state.
  virtual void truncate(int64_t end) = 0;
  void clear() { truncate(0); }  ///< forgets all positions, keeps the memory

  int64_t length = 0;  ///< positions read
};

/// The layers of a Decoder, which each architecture implements. Parameters have their names in files.
class Backbone : public nn::Module {
 public:
  /// The outputs of the last block. idx: (B, T) int64 -> (B, T, C). `starts` is that of Decoder::loss(), or
  /// undefined. Throws Error for tokens outside [0, V).
  virtual Tensor features(const Tensor& idx, Generator* dropout, const Tensor& starts) const = 0;
  /// Applies the last norm and the output projection: (..., C) -> (..., V).
  virtual Tensor logits(const Tensor& features) const = 0;
  /// Itself, or one of the models of which this is the mean, each as likely as another.
  virtual const Backbone& drawn_member(Generator&) const { return *this; }
  /// See Decoder::logit_share().
  virtual Tensor logit_share(const Tensor& part, const Tensor& features, const Tensor& tokens) const = 0;

  /// An empty state for `batch` sequences.
  virtual std::unique_ptr<DecodingState> make_state(int64_t batch) const = 0;
  /// Features of the T tokens after the state.length tokens that `state` has read; adds them to the state
  /// (the caller sets its length). Without dropout. idx: (B, T) -> (B, T, C).
  virtual Tensor next_features(const Tensor& idx, DecodingState& state) const = 0;

  /// A copy that shares the parameters.
  virtual std::unique_ptr<Backbone> clone() const = 0;
};

/// The model of the architecture config.arch, with the initial values of its layers. Throws Error if the
/// config is not valid.
std::unique_ptr<Backbone> make_backbone(const DecoderConfig& config, Generator& init);

/// The largest number of logits that an evaluation computes at once: 256 MiB in float32.
inline constexpr int64_t kMostLogits = int64_t{1} << 26;

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
  /// Mean cross-entropy, nats per token. idx, targets: (B, T) int64 -> (). Targets of -100 do not count; no
  /// logits are computed for them.
  /// With `starts`, (B, T) int64, each row has several sequences: position t belongs to the one that starts
  /// at starts[b, t], and has the value that it has in this sequence alone. Throws as above, and for a
  /// recurrent decoder if a sequence starts after position 0.
  Tensor loss(const Tensor& idx, const Tensor& targets, Generator* dropout = nullptr,
              const Tensor& starts = {}) const;
  /// (1 - teacher_weight) times loss() plus teacher_weight times the mean cross-entropy with the
  /// probabilities of `teacher` at the same positions (knowledge distillation; Hinton et al., arXiv
  /// 1503.02531, at temperature 1). The teacher is in evaluation mode, has this vocabulary, and gets no
  /// gradients. From an ensemble each call draws a member, by `random`, from which dropout comes too: the
  /// loss is linear in the probabilities, so its mean is that with the ensemble, at the price of one model.
  Tensor distillation_loss(const Tensor& idx, const Tensor& targets, const Decoder& teacher,
                           const LossSettings& settings, Generator& random, const Tensor& starts = {}) const;
  /// The cross-entropy of each target, 0 for those of -100: (B, T) -> (B T). Under NoGrad, this and loss()
  /// compute at most kMostLogits at a time.
  Tensor losses(const Tensor& idx, const Tensor& targets, Generator* dropout = nullptr,
                const Tensor& starts = {}) const;
  /// The same without dropout. Calls use(logits) with the logits (N, V) of the next N losses.
  Tensor losses(const Tensor& idx, const Tensor& targets,
                const std::function<void(const Tensor&)>& use) const;

  /// Applies the last norm and the output projection to the residual stream after any block: (..., C) ->
  /// (..., V). After a block before the last one, the result is the logit lens (nostalgebraist, 2020).
  Tensor logits(const Tensor& features) const { return backbone_->logits(features); }
  /// The share that one term of the residual stream, `part`, has in the logits of `tokens` (B, T) (direct
  /// logit attribution; Elhage et al., A Mathematical Framework for Transformer Circuits, 2021). The last
  /// norm scales the term as it scales the whole stream, `features`. part, features: (B, T, C) -> (B, T). The
  /// shares of all terms add up to the logits minus the contribution of the norm's bias.
  Tensor logit_share(const Tensor& part, const Tensor& features, const Tensor& tokens) const {
    return backbone_->logit_share(part, features, tokens);
  }

  /// An empty state for `batch` sequences.
  std::unique_ptr<DecodingState> make_state(int64_t batch = 1) const { return backbone_->make_state(batch); }
  /// The logits of the next token after the sequences of `state` followed by idx. Up to rounding, they equal
  /// the logits of a full forward pass in evaluation mode at the last position. There is no dropout, and
  /// nothing is recorded. idx: (B, T) -> (B, V). Throws Error beyond config().context_limit().
  Tensor decode(const Tensor& idx, DecodingState& state) const;
  /// The same at each position of idx: (B, T) -> (B, T, V). With can_draft(), one sequence of up to
  /// nn::kFewPositions tokens gives the same bits as calls of decode() with one token each.
  Tensor decode_all(const Tensor& idx, DecodingState& state) const;
  /// Whether draft tokens can be read and dropped from the state without changing the bits: false for
  /// recurrent decoders and for matrices below 400 weights.
  bool can_draft() const;

  const DecoderConfig& config() const { return config_; }  ///< as given to the constructor
  void visit(nn::Visitor& v) override { backbone_->visit(v); }

 private:
  Tensor next_features(const Tensor& idx, DecodingState& state) const;
  /// Checks the arguments of loss(): -> (B, T, C).
  Tensor features_of(const Tensor& idx, const Tensor& targets, Generator* dropout,
                     const Tensor& starts) const;
  /// (..., C) and (N) -> (N)
  Tensor losses_of(const Tensor& features, const Tensor& targets,
                   const std::function<void(const Tensor&)>& use = {}) const;

  DecoderConfig config_;
  std::unique_ptr<Backbone> backbone_;
};

}  // namespace gradus::models
