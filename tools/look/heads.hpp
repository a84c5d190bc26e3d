// The heads of a decoder: where each looks in a text, and what the predictions lose without it.
// Thread-safety: one call at a time for a model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gradus/models/decoder.hpp"

namespace gradus::look {

/// The next tokens as a part of the model predicts them, at each of the T positions of a text.
struct Prediction {
  std::string name;                   ///< of the residual stream from which they are predicted
  std::vector<int64_t> likeliest;     ///< T tokens
  std::vector<double> probabilities;  ///< T, of these tokens
  std::vector<double> losses;         ///< T - 1: -log p of tokens 1, 2, ..., in nats
};

/// The prediction of these logits (T, V).
Prediction predict(std::string name, const Tensor& logits, const std::vector<int64_t>& tokens);

/// The mean; NaN for none.
double mean_of(const std::vector<double>& values);

/// A head of attention and a text of T tokens. a(t, s) is the weight with which position t attends to
/// position s. Means are over positions 1 to T - 1 (position 0 can only attend to itself), and NaN if T is 1.
struct Head {
  std::string name;                 ///< of its point
  int64_t layer, head;              ///< counted from 0
  Tensor attention = {};            ///< (T, T): a
  double distance = 0;              ///< mean of sum_s a(t, s) (t - s), tokens
  double entropy = 0;               ///< mean of -sum_s a(t, s) log a(t, s), nats
  double previous = 0;              ///< mean of a(t, t - 1)
  double first = 0;                 ///< mean of a(t, 0)
  double induction = 0;             ///< see induction_score(), for repeated_tokens()
  std::vector<double> losses = {};  ///< T - 1, with zeros in place of the output of the head
};

/// All heads, layer by layer; none for a decoder without attention.
std::vector<Head> heads_of(models::Decoder& model, const std::vector<int64_t>& tokens);

/// A sequence of random tokens and the same sequence again: 2 L tokens, L being 64, or half of the context
/// length if that is less. It is the same for each call; a context of one token has no repetition.
std::vector<int64_t> repeated_tokens(const models::DecoderConfig& config);

/// For the attention (2 L, 2 L) to a sequence of L tokens and its repetition: the mean weight, over the
/// second L, with which a position attends to the token after the earlier occurrence of its own token
/// (Olsson et al., In-context Learning and Induction Heads, 2022). NaN if L is less than 2.
double induction_score(const Tensor& attention);

}  // namespace gradus::look
