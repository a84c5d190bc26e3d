// Generation: tokens drawn one after another from a model. Stateless; all randomness comes from the generator
// given.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "gradus/autograd/random/random.hpp"
#include "gradus/models/decoder.hpp"

namespace gradus::models {

/// How tokens are drawn.
struct SampleOptions {
  int64_t max_new_tokens = 200;  ///< most that generate() returns
  double temperature = 1.0;      ///< divides the logits; 0 takes the likeliest token always (greedy)
  int64_t top_k = 0;  ///< keep the k likeliest tokens, the lower index first among equals; 0 keeps all
  double top_p =
      1.0;  ///< of those, keep the fewest likeliest whose probabilities reach top_p (arXiv 1904.09751)
  double min_p =
      0.0;  ///< of those, keep what is at least min_p times as likely as the likeliest (2407.01082)
  /// Divides the logits above 0 of tokens that came before, multiplies those below, once each: above 1 they
  /// come less often, and below 1 more (CTRL, arXiv 1909.05858, as transformers has it).
  double repetition_penalty = 1.0;
  /// Most tokens to guess from repetitions in the text and to read with each step, 0 to 7: sooner done where
  /// a text repeats itself, and the same text (see NextToken).
  int64_t draft = 0;

  /// Throws Error that names the first field that is wrong, what must hold and what came.
  void validate() const;
};

/// Probabilities after the penalty of what came `before`, then temperature, top_k, top_p and min_p: what the
/// next token is drawn from. logits: (V) -> V values that sum to 1. Throws RunError if a logit is NaN or
/// +inf, or all are -inf; Error if a penalty meets a token outside [0, V).
std::vector<double> next_token_probabilities(const Tensor& logits, const SampleOptions& options,
                                             std::span<const int64_t> before = {});
/// Draws one token, using exactly one uniform number (none if greedy). Throws as above.
int64_t sample_token(const Tensor& logits, const SampleOptions& options, Generator& generator,
                     std::span<const int64_t> before = {});

/// Called with each new token as it comes; generation stops when it returns false.
using OnToken = std::function<bool(int64_t token)>;

/// The tokens that follow `prompt`, without it. The model never drops, whatever its mode, and sees as
/// many of the last tokens as NextToken does, at its cost. The penalty of repetitions sees
/// the whole prompt and all that was drawn, also what has left the window. Throws Error for an empty prompt
/// and for tokens outside [0, V).
std::vector<int64_t> generate(const Decoder& model, const std::vector<int64_t>& prompt,
                              const SampleOptions& options, Generator& generator,
                              const OnToken& on_token = {});

}  // namespace gradus::models
