// The next token: what a model expects after a text, and where a token stands in that. See generate.hpp for
// drawing one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gradus/models/decoder.hpp"
#include "gradus/nn/kv_cache.hpp"

namespace gradus::models {

/// Logits as a text grows, from its last tokens, as many as the context limit of the model. Up to that limit
/// each token is decoded alone; beyond it every position shifts, which makes keys and values useless, and
/// each token costs a forward pass of block_size tokens. A recurrent model has no limit. Never drops,
/// whatever the model's mode; nothing is recorded. Not thread-safe.
///
/// With `draft` above 0 each step also reads up to so many tokens that drafted() expects to come, which costs
/// little where a step's time is that of reading the weights; those that do come need no step of their own.
/// The logits are the same, bit for bit (speculative decoding, arXiv 2211.17192, with the text itself as the
/// draft).
class NextToken {
 public:
  /// Borrows the model. Throws Error unless draft is in [0, kMostDrafted].
  explicit NextToken(const Decoder& model, int64_t draft = 0);

  /// Of the token after `tokens`, which begin with those of the call before and have at least one more. ->
  /// (V) Throws Error otherwise, and for tokens outside [0, V).
  Tensor logits(std::span<const int64_t> tokens);

 private:
  const Decoder* model_;
  int64_t draft_;
  std::unique_ptr<DecodingState> state_;
  std::vector<int64_t> fed_;  // the tokens that the state has read, those of a draft at the end
  Tensor rows_;               // logits behind the last of them
  size_t asked_ = 0;          // tokens of the last call's text
};

/// Most tokens of a draft: with the one before them as many as are read at the cost of one.
inline constexpr int64_t kMostDrafted = nn::kFewPositions - 1;

/// What came behind the latest of the longest beginnings that end as `tokens` do, in the last 2 to 16 tokens:
/// up to `most` tokens, or none if there is no such place ("prompt lookup"; the draft costs no model).
std::vector<int64_t> drafted(std::span<const int64_t> tokens, int64_t most);

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
