// Scores of a text: the loss of each token, a check that probabilities sum to one, and decoders that learn
// from each window of the text after they have predicted it. Not thread-safe.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "gradus/data/dataset.hpp"
#include "gradus/models/decoder.hpp"
#include "gradus/train/optimizers/optimizer.hpp"

namespace gradus::train {

/// A decoder that can learn from each window of a text after it has predicted it: dynamic evaluation (Krause
/// et al., arXiv 1709.07432). A step subtracts rate / n_embd * g / sqrt(mean of g^2); then the parameters
/// move back toward their first values by the fraction kReturn * rate. Nothing is random: after the same
/// windows a decoder has the same bits.
class AdaptiveDecoder {
 public:
  /// The rates of the decoders that are mixed: which one is best depends on the model and the text.
  static constexpr std::array<double, 3> kRates{0.0, 0.0128, 0.064};
  static constexpr double kReturn = 0.08;  ///< see above

  /// In evaluation mode. With rate 0 it does not learn and shares the parameters, else it has a copy of them.
  AdaptiveDecoder(const models::Decoder& model, double rate);
  const models::Decoder& model() const { return model_; }  ///< as it is now
  bool learns() const { return optimizer_ != nullptr; }    ///< whether the rate is above 0
  /// If it learns: a step that lowers the sum of `losses`, those that Decoder::losses() gave for a window.
  void learn(const Tensor& losses);

 private:
  models::Decoder model_;
  double rate_;
  std::vector<Tensor> parameters_, first_;
  std::unique_ptr<Optimizer> optimizer_;
};

/// The scores of the tokens that count, of one text or of several.
struct TextScores {
  static constexpr int64_t kChecked = 16;  ///< the sum is checked at every 16th token

  std::vector<double> losses;  ///< nats
  std::vector<double> others;  ///< others_of() at the tokens 0, kChecked, 2 kChecked, ...

  /// The probability of all other tokens together, in float64: `token` has exp(-loss), and the logits give
  /// the ratios of the others to it. If the loss is right, the result is 1 - exp(-loss).
  static double others_of(std::vector<double> logits, int64_t token, double loss);
  /// Appends the scores of a text whose first token is given. Windows of up to block_size tokens begin
  /// `stride` tokens apart, and predict the tokens that no earlier one has. The decoder learns from each
  /// window's new tokens before it predicts the next ones.
  void add(AdaptiveDecoder& decoder, const data::Example& text, int64_t stride);
  /// The largest distance from 1 of a sum over the vocabulary, exp(-loss) + others.
  double largest_sum_deviation() const;
};

/// The scores of the mean of several models' probabilities of the same tokens. The weights are equal; or, if
/// `learned`, those of a token are in proportion to the probabilities that the models gave to all tokens
/// before it (Bayes). Then the sum of the losses is at most log(models) above that of the best model.
TextScores mixture_of(const std::vector<TextScores>& models, bool learned);
/// The scores of texts by a model, or if `adapt` by the learned mixture of AdaptiveDecoders at kRates.
TextScores scores_of(const models::Decoder& model, const data::ExampleList& texts, int64_t stride,
                     bool adapt);

/// Reads a text token by token, with the probabilities of scores_of() at a stride of block_size.
class TextReader {
 public:
  TextReader(const models::Decoder& model, bool adapt);  ///< the model itself stays
  /// The probabilities of the next token, (V). Before the first token all are equal.
  const std::vector<double>& probabilities() const { return probabilities_; }
  void read(int64_t token);  ///< the next token is this one

 private:
  struct Member {
    AdaptiveDecoder decoder;
    std::unique_ptr<models::DecodingState> state;
    std::vector<double> probabilities;
    double weight = 0;  // its logarithm
  };
  std::vector<Member> members_;
  std::vector<int64_t> window_;
  std::vector<double> probabilities_;
};

}  // namespace gradus::train
