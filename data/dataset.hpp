// TextDataset: a text as tokens, split into a part to train on and a part to validate on, and its batches.
//
// A text of n tokens poses n - 1 predictions: each token from those before it. Shares its tokens, which may
// be in a file; batches are new tensors. Thread-safety: immutable once made and weighed, so threads with
// different generators may share one.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "gradus/autograd/random/random.hpp"
#include "gradus/autograd/tensor/tensor.hpp"
#include "gradus/data/tokens.hpp"

namespace gradus::data {

/// Windows of a text, int64: x: (B, T), and y: (B, T) with y[b, t] the token that follows x[b, t].
struct Batch {
  Tensor x, y;  ///< the tokens read, and the tokens to predict
};

/// Every token but the first predicted exactly once: consecutive windows of `block` tokens that do not
/// overlap, up to `batch` of them a batch, and the shorter rest as a last batch (1, rest). Batches differ in
/// size, so a mean loss over all has to weigh each with its y.numel(). Throws Error for fewer than 2 tokens,
/// or batch or block below 1.
std::vector<Batch> consecutive_batches(std::span<const int32_t> tokens, int64_t batch, int64_t block);

/// How many predictions the batches pose.
int64_t count_targets(const std::vector<Batch>& batches);

/// A part of the text.
enum class Split { train, validation };

/// A part of the training tokens, and the relative probability of its windows.
struct WeightedPart {
  int64_t tokens = 0;  ///< number of tokens
  double weight = 1;   ///< above 0, finite
};

class TextDataset {
 public:
  /// The last val_fraction of the tokens are for validation; with 0 there are none. Throws Error unless block
  /// >= 1, 0 <= val_fraction < 1, and each part has at least block + 1 tokens.
  TextDataset(Tokens tokens, int64_t block, double val_fraction);
  /// Two texts, one to train on, one to validate on. Throws Error unless block >= 1, and each has at least
  /// block + 1 tokens.
  TextDataset(Tokens train, Tokens validation, int64_t block);

  /// From now on the windows to train on are drawn by weights: `parts` are the stretches of the whole text,
  /// in order. What of them is for validation does not count. Throws Error unless there is a part with a
  /// weight above 0 in which a window can start.
  void weigh(const std::vector<WeightedPart>& parts);

  int64_t block() const { return block_; }  ///< tokens in a window
  /// False if val_fraction was 0.
  bool has_validation() const { return !validation_.empty(); }
  /// Of one part, in their order.
  const Tokens& tokens(Split split) const { return split == Split::train ? train_ : validation_; }

  /// `batch` windows of `block` tokens that start anywhere in the part, drawn with replacement, those to
  /// train on by weights, if there are any; generator.state() before the call is all it takes to draw them
  /// again. Throws Error for batch below 1, or a part that has no tokens.
  Batch random_batch(Split split, int64_t batch, Generator& generator) const;

  /// random_batch() of the part to train on, as a function of the number of windows and the generator. Holds
  /// on to this dataset, which must outlive it.
  std::function<Batch(int64_t, Generator&)> training_batches() const;

  /// The whole validation part, the same at every call (see consecutive_batches); empty if there is none.
  std::vector<Batch> validation_batches(int64_t batch) const;
  /// About `tokens` of its targets, one at least: whole windows of it, evenly spread, the same at every call.
  /// All of it if it has no more. Throws Error for batch or tokens below 1.
  std::vector<Batch> validation_sample(int64_t batch, int64_t tokens) const;

 private:
  struct Stretch {
    int64_t begin, starts;  // where its windows start
    double up_to;           // its weight, and that of those before it
  };
  int64_t weighted_start(Generator& generator) const;

  Tokens train_, validation_;
  int64_t block_;
  std::vector<Stretch> stretches_;  // none: all starts are alike
};

}  // namespace gradus::data
