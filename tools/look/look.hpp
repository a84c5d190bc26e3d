// What a decoder computes for a text: the loss of each token, activations, the logit lens and direct logit
// attribution. Thread-safety: one call at a time for a model.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
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

/// The part of the logits of the targets that a term of the residual stream makes.
struct Share {
  std::string name;            ///< of the point whose value is the term
  std::vector<double> logits;  ///< T
};

/// The result for a text of T tokens.
struct Look {
  std::vector<int64_t> tokens;  ///< T
  Prediction prediction;        ///< by the model
  /// By the residual stream before the first block and after each one, with the model's last norm and output
  /// projection (the logit lens). The last one is `prediction`.
  std::vector<Prediction> lens;
  std::vector<int64_t> targets;  ///< T: tokens 1, 2, ..., then the likeliest one after the last
  /// They add up to `target_logits`: the embedding; for each block its heads, the bias of its attention and
  /// its MLP; the bias of the last norm. In a decoder without attention: its mixer in place of the heads.
  std::vector<Share> shares;
  std::vector<double> target_logits;                        ///< T
  std::vector<std::pair<std::string, Tensor>> activations;  ///< by name, in the order of the model
};

/// Reads `tokens` in evaluation mode, and keeps the points that match one of the patterns. Throws Error for
/// no tokens, or more than the context length.
Look look_at(models::Decoder& model, const std::vector<int64_t>& tokens,
             const std::vector<std::string>& patterns);

/// The names of all points of the model, in the order in which it passes them.
std::vector<std::string> points_of(models::Decoder& model);

/// Patterns of points, which may have GPT-2's names, with the model's own names (models::own_name). Throws
/// Error, naming the flag, for one that matches no point.
std::vector<std::string> own_points(models::Decoder& model, std::string_view flag,
                                    std::vector<std::string> patterns);

/// Mean of the losses; 0 for none.
double mean_loss(const Prediction& prediction);

}  // namespace gradus::look
