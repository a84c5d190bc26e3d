// TextDataset: a text as tokens, split into a part to train on and a part to validate on, and its batches.
//
// A text of n tokens poses n - 1 predictions: each token from those before it. Owns its tokens; batches are
// fresh tensors. Thread-safety: immutable once made, so one may be shared by threads that have their own
// generators.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "gradus/autograd/random.hpp"
#include "gradus/autograd/tensor.hpp"

namespace gradus::data {

/// Windows of a text, int64: x: (B, T), and y: (B, T) with y[b, t] the token that follows x[b, t].
struct Batch {
  Tensor x, y;  ///< what is read, and what is to be predicted
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

class TextDataset {
 public:
  /// The last val_fraction of the tokens are for validation; with 0 there are none. Throws Error unless block
  /// >= 1, 0 <= val_fraction < 1, and each part has at least block + 1 tokens.
  TextDataset(std::vector<int32_t> tokens, int64_t block, double val_fraction);

  int64_t block() const { return block_; }  ///< tokens in a window
  /// False if val_fraction was 0.
  bool has_validation() const { return train_size_ < static_cast<int64_t>(tokens_.size()); }
  std::span<const int32_t> tokens(Split split) const;  ///< of one part, in their order

  /// `batch` windows of `block` tokens that start anywhere in the part, drawn with replacement;
  /// generator.state() before the call is all it takes to draw them again. Throws Error for batch below 1, or
  /// a part that has no tokens.
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
  std::vector<int32_t> tokens_;
  int64_t block_;
  int64_t train_size_;
};

}  // namespace gradus::data
