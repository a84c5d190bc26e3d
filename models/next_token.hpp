// The next token: what a model expects after a text, and where a token stands in that. See generate.hpp for
// drawing one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gradus/models/gpt.hpp"

namespace gradus::models {

/// Logits as a text grows, from the last block_size tokens of it. Up to block_size tokens each costs one
/// cached step; beyond, where every position shifts and makes the cache worthless, a forward of block_size
/// tokens. Never drops, whatever the model's mode; nothing is recorded. Not thread-safe.
class NextToken {
 public:
  /// Borrows the model.
  explicit NextToken(const GPT& model) : model_(&model), cache_(model.make_cache()) {}

  /// Of the token after `tokens`, which begin with those of the call before and have at least one more. ->
  /// (V) Throws Error otherwise, and for tokens outside [0, V).
  Tensor logits(std::span<const int64_t> tokens);

 private:
  const GPT* model_;
  GPTCache cache_;
  size_t seen_ = 0;  // tokens that are in the cache, or have left the window
};

/// A token among all that could come.
struct RankedToken {
  int64_t token = 0;         ///< its number
  double probability = 0.0;  ///< from 0 to 1
  int64_t rank = 0;          ///< 1 is the likeliest; among equals the lower number first

  bool operator==(const RankedToken&) const = default;
};

/// Where `token` stands. Throws Error if it is outside [0, V). probabilities: V values, as
/// next_token_probabilities() gives them.
RankedToken ranked(const std::vector<double>& probabilities, int64_t token);

/// The `count` likeliest, or all if there are fewer, the likeliest first. Throws Error if `count` is
/// negative.
std::vector<RankedToken> likeliest(const std::vector<double>& probabilities, int64_t count);

}  // namespace gradus::models
