// Generation: tokens drawn one after another from a model. Stateless; all randomness comes from the generator
// given.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "gradus/autograd/random.hpp"
#include "gradus/models/gpt.hpp"

namespace gradus::models {

/// How tokens are drawn.
struct SampleOptions {
  int64_t max_new_tokens = 200;  ///< most that generate() returns
  double temperature = 1.0;      ///< divides the logits; 0 takes the likeliest token always (greedy)
  int64_t top_k = 0;  ///< keep the k likeliest tokens, the lower index first among equals; 0 keeps all
  double top_p =
      1.0;  ///< of those, keep the fewest likeliest whose probabilities reach top_p (arXiv 1904.09751)

  /// Throws Error that names the first field that is wrong, what must hold and what came.
  void validate() const;
};

/// Probabilities after temperature, then top_k, then top_p: what the next token is drawn from. logits: (V) ->
/// V values that sum to 1. Throws RunError if a logit is NaN or +inf, or all are -inf.
std::vector<double> next_token_probabilities(const Tensor& logits, const SampleOptions& options);
/// Draws one token, using exactly one uniform number (none if greedy). Throws as above.
int64_t sample_token(const Tensor& logits, const SampleOptions& options, Generator& generator);

/// Called with each new token as it comes; generation stops when it returns false.
using OnToken = std::function<bool(int64_t token)>;

/// The tokens that follow `prompt`, without it. The model sees the last block_size tokens, and never drops,
/// whatever its mode. Up to block_size tokens each costs one cached step; beyond, where every position shifts
/// and makes the cache worthless, each costs a forward of block_size tokens. Throws Error
/// for an empty prompt and for tokens outside [0, V).
std::vector<int64_t> generate(const GPT& model, const std::vector<int64_t>& prompt,
                              const SampleOptions& options, Generator& generator,
                              const OnToken& on_token = {});

}  // namespace gradus::models
