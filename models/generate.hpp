// Generation: draws tokens one after another from a model, and computes the probabilities of the next token.
// All randomness comes from the given generator.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "gradus/autograd/random/random.hpp"
#include "gradus/models/decoder.hpp"
#include "gradus/nn/attention.hpp"

namespace gradus::models {

/// Most tokens of a draft. With the token before them, a decoder reads them at the cost of one.
inline constexpr int64_t kMostDrafted = nn::kFewPositions - 1;

/// How tokens are drawn.
struct SampleOptions {
  int64_t max_new_tokens = 200;  ///< most tokens that generate() returns
  double temperature = 1.0;      ///< divides the logits; 0 always takes the likeliest token (greedy)
  int64_t top_k = 0;  ///< keep the k likeliest tokens, the lower index first among equals; 0 keeps all
  /// Then keep the fewest tokens, likeliest first, whose probabilities reach top_p (arXiv 1904.09751).
  double top_p = 1.0;
  /// Then keep the tokens at least min_p times as likely as the likeliest (arXiv 2407.01082).
  double min_p = 0.0;
  /// Divides positive logits of earlier tokens and multiplies negative ones, once each: above 1 these tokens
  /// become less likely, below 1 likelier (CTRL, arXiv 1909.05858, as in transformers).
  double repetition_penalty = 1.0;
  /// Most tokens, 0 to 7, that are guessed from repetitions in the text and read in the same forward pass.
  /// This speeds up repetitive texts and keeps the result (see NextToken).
  int64_t draft = 0;

  /// Throws Error with the name of the first invalid field, its constraint and its value.
  void validate() const;
};

/// The probabilities that the next token is drawn from: after the repetition penalty for the tokens `before`,
/// then temperature, top_k, top_p and min_p. logits: (V) -> V values that sum to 1. Throws RunError if a
/// logit is NaN or +inf, or all are -inf; Error if `before` has a token outside [0, V).
std::vector<double> next_token_probabilities(const Tensor& logits, const SampleOptions& options,
                                             std::span<const int64_t> before = {});
/// Draws one token, using exactly one uniform number (none if greedy). Throws as above.
int64_t sample_token(const Tensor& logits, const SampleOptions& options, Generator& generator,
                     std::span<const int64_t> before = {});

/// Called with each new token; generation stops when it returns false.
using OnToken = std::function<bool(int64_t token)>;

/// The tokens that follow `prompt`, without it. Drops nothing in any mode of the model. The context and the
/// cost are those of NextToken. The repetition penalty covers the whole prompt and all drawn tokens, also
/// those beyond the context. Throws Error for an empty prompt and for tokens outside [0, V).
std::vector<int64_t> generate(const Decoder& model, const std::vector<int64_t>& prompt,
                              const SampleOptions& options, Generator& generator,
                              const OnToken& on_token = {});

/// Logits of the next token of a growing text. The context is the last tokens of the text, up to the model's
/// context limit. Up to that limit each token is decoded alone; beyond it every position shifts, which
/// invalidates keys and values, and each token costs a forward pass of block_size tokens. A recurrent model
/// has no limit. Drops nothing in any mode of the model; records nothing. Not thread-safe.
///
/// With `draft` above 0 a forward pass also reads up to `draft` tokens that drafted() predicts, at little
/// extra cost if reading the weights takes most of the time; correct ones need no other pass. The logits have
/// the same bits (speculative decoding, arXiv 2211.17192, with the text itself as the draft model).
class NextToken {
 public:
  /// Borrows the model. Throws Error unless draft is in [0, kMostDrafted].
  explicit NextToken(const Decoder& model, int64_t draft = 0);

  /// Logits (V) of the token after `tokens`, which extend the tokens of the previous call by at least one.
  /// Throws Error otherwise, and for tokens outside [0, V).
  Tensor logits(std::span<const int64_t> tokens);

 private:
  const Decoder* model_;
  int64_t draft_;
  std::unique_ptr<DecodingState> state_;
  std::vector<int64_t> fed_;  // the tokens that the state has read, with the draft at the end
  Tensor rows_;               // logits after the last of them
  size_t asked_ = 0;          // number of tokens of the previous call
};

/// Prompt lookup decoding: up to `most` tokens that followed the latest of the longest earlier matches of the
/// last 2 to 16 tokens; none if there is no match.
std::vector<int64_t> drafted(std::span<const int64_t> tokens, int64_t most);

/// A token with its probability and its rank among all tokens.
struct RankedToken {
  int64_t token = 0;         ///< its number
  double probability = 0.0;  ///< from 0 to 1
  int64_t rank = 0;          ///< 1 is the likeliest; among equals the lower number first

  bool operator==(const RankedToken&) const = default;
};

/// The rank of `token`. Throws Error if it is outside [0, V). probabilities: V values, as
/// next_token_probabilities() gives them.
RankedToken ranked(const std::vector<double>& probabilities, int64_t token);

/// The `count` likeliest tokens, or all, the likeliest first. Throws Error if `count` is negative.
std::vector<RankedToken> likeliest(const std::vector<double>& probabilities, int64_t count);

}  // namespace gradus::models
