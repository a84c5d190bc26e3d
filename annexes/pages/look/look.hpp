// What a decoder computes for a text: the loss of each token, activations, the logit lens, direct logit
// attribution, and what its heads do. Thread-safety: one call at a time for a model.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gradus/autograd/tensor/tensor.hpp"
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

/// How much a head attends to the token that followed the same token before: the mean of
/// attention[t, t - L + 1] over t in [L, 2 L), for L tokens that are repeated once. attention: (2 L, 2 L)
/// (Olsson et al., In-context Learning and Induction Heads, 2022). NaN if L is less than 2.
double induction_score(const Tensor& attention);

/// The part of the logits of the targets that a term of the residual stream makes.
struct Share {
  std::string name;            ///< of the point whose value is the term
  std::vector<double> logits;  ///< T
};

/// The result for a text of T tokens.
struct Look {
  std::vector<int64_t> tokens;  ///< T
  Prediction prediction;        ///< by the model
  Tensor top;                   ///< (T, 10) int64: the likeliest tokens, or all if there are fewer
  Tensor top_probabilities;     ///< theirs, float64
  /// By the residual stream before the first block and after each one, with the model's last norm and output
  /// projection (the logit lens). The last one is `prediction`.
  std::vector<Prediction> lens;
  std::vector<int64_t> targets;  ///< T: tokens 1, 2, ..., then the likeliest one after the last
  /// They add up to `target_logits`: the embedding; for each block its heads, the bias of its attention and
  /// its MLP; the bias of the last norm. In a decoder without attention: its mixer in place of the heads.
  std::vector<Share> shares;
  std::vector<double> target_logits;                        ///< T
  std::vector<std::pair<std::string, Tensor>> activations;  ///< by name, in the order of the model
  std::vector<Head> heads;                                  ///< if asked for: see heads_of()
};

/// Reads `tokens` in evaluation mode, and keeps the points that match one of the patterns. Throws Error for
/// no tokens, or more than the context length.
Look look_at(models::Decoder& model, const std::vector<int64_t>& tokens,
             const std::vector<std::string>& patterns, bool with_heads = false);

/// The names of all points of the model, in the order in which it passes them.
std::vector<std::string> points_of(models::Decoder& model);

/// Patterns of points, which may have GPT-2's names, with the model's own names (models::own_name). Throws
/// Error, naming the flag, for one that matches no point.
std::vector<std::string> own_points(models::Decoder& model, std::string_view flag,
                                    std::vector<std::string> patterns);

}  // namespace gradus::look
