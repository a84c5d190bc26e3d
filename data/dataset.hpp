// TextDataset: the tokens of a text in a training and a validation split, and their batches.
//
// A text of n tokens has n - 1 targets: each token except the first. A dataset shares its tokens, which may
// be in a file; batches are new tensors. Thread-safe for const members, with a generator for each thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "gradus/autograd/random/random.hpp"
#include "gradus/autograd/tensor/tensor.hpp"
#include "gradus/data/tokens.hpp"

namespace gradus::data {

/// A batch of examples. A batch of a text has windows: x (B, T) and y (B, T), both int64, where y[b, t] is
/// the token after x[b, t].
struct Batch {
  Tensor x, y;  ///< inputs and targets; structured bindings bind these two
  /// What else a loss reads, such as masks. Empty for a text; for packed examples (B, T) int64: where the
  /// example of each position starts.
  std::vector<Tensor> more{};

  /// The number of targets: the elements of y; if y is int64, without those that are kNoTarget.
  int64_t targets() const;

  /// Structured bindings call it.
  template <size_t i>
  const Tensor& get() const {
    return i == 0 ? x : y;
  }
};

/// A target that does not count: ignore_index of cross_entropy().
inline constexpr int64_t kNoTarget = -100;

/// Batches in which each token except the first is a target once: consecutive windows of `block` tokens, up
/// to `batch` of them per batch, and the shorter rest as a last batch (1, rest). Batches differ in size:
/// weight the loss of each by y.numel(). Throws Error for fewer than 2 tokens, or batch or block below 1.
std::vector<Batch> consecutive_batches(std::span<const int32_t> tokens, int64_t batch, int64_t block);

/// A sequence that is read by itself, such as a question with its answer.
struct Example {
  std::vector<int32_t> tokens;  ///< at least two
  std::vector<bool> counts;     ///< for each token: whether it counts as a target
};

/// Examples in little memory: 17 bits for each token if all are below 65,536. A handle; copies and parts
/// share the examples. Thread-safe for const members.
class ExampleList {
 public:
  ExampleList() = default;  ///< none
  /// These.
  ExampleList(std::initializer_list<Example> examples) : ExampleList(std::vector<Example>(examples)) {}
  ExampleList(const std::vector<Example>& examples) {  ///< these (NOLINT: a list is one)
    for (const Example& one : examples) add(one);
  }
  /// Adds an example at the end. No part or tokens() may be in use.
  void add(const Example& example);

  size_t size() const { return last_ - first_; }      ///< number of examples
  bool empty() const { return size() == 0; }          ///< whether there are none
  Example operator[](size_t i) const;                 ///< example i
  ExampleList part(size_t first, size_t last) const;  ///< the examples [first, last)
  Tokens tokens() const;                              ///< of all examples, one after another
  /// The index in tokens() of the first token of example i; for i = size(), the number of tokens.
  int64_t begin_of(size_t i) const { return store_->begins[first_ + i] - store_->begins[first_]; }
  int64_t targets_of(size_t i) const;  ///< the tokens of example i that count, except its first
  /// Whether a token of tokens() counts.
  bool counts(int64_t token) const {
    return store_->counts[static_cast<size_t>(store_->begins[first_] + token)];
  }

  /// Makes examples one by one.
  struct Iterator {
    const ExampleList* list;                                               ///< to which it belongs
    size_t i;                                                              ///< the number of the example
    Example operator*() const { return (*list)[i]; }                       ///< the example
    Iterator& operator++() { return ++i, *this; }                          ///< goes on to the next
    bool operator!=(const Iterator& other) const { return i != other.i; }  ///< of one list
  };
  Iterator begin() const { return {this, 0}; }     ///< the first example
  Iterator end() const { return {this, size()}; }  ///< after the last example

 private:
  struct Store {
    std::deque<uint16_t> low, high;  // 16 bits of each token each; no high ones while all are 0
    std::vector<bool> counts;
    std::vector<int64_t> begins{0};  // the first token of each example; then the number of tokens
  };
  std::shared_ptr<Store> store_ = std::make_shared<Store>();
  size_t first_ = 0, last_ = 0;
};

/// The number of targets in the batches.
int64_t count_targets(const std::vector<Batch>& batches);

/// A split of the text.
enum class Split { train, validation };

/// A part of the training tokens, and the relative probability of its windows.
struct WeightedPart {
  int64_t tokens = 0;  ///< number of tokens
  double weight = 1;   ///< at least 0, finite
};

class TextDataset {
 public:
  /// The last val_fraction of the tokens are for validation; with 0 there are none. Throws Error unless block
  /// >= 1, 0 <= val_fraction < 1, and each part has at least block + 1 tokens.
  TextDataset(Tokens tokens, int64_t block, double val_fraction);
  /// Two texts, one to train on, one to validate on. Throws Error unless block >= 1, and each has at least
  /// block + 1 tokens.
  TextDataset(Tokens train, Tokens validation, int64_t block);

  /// Examples to train on and examples to validate on (there may be none), packed into windows of `block`
  /// tokens in a random order that depends on `seed` alone. A window has as many examples as fit, and
  /// attention does not cross from one example to another (Batch::more). With `alone`, each example has a
  /// window of its own. Shorter windows end in targets of kNoTarget. An epoch has each window once. Throws
  /// Error without training examples, and for an example of more than block + 1 tokens.
  TextDataset(ExampleList train, ExampleList validation, int64_t block, uint64_t seed, bool alone = false);

  /// From now on, draws training windows by the weights of `parts`, which are the parts of the whole text, in
  /// order. Parts of the validation split do not count. Throws Error unless a window can start in a part with
  /// a weight above 0.
  void weigh(const std::vector<WeightedPart>& parts);

  int64_t block() const { return block_; }  ///< tokens in a window
  /// Whether there is a validation split: false if val_fraction was 0.
  bool has_validation() const { return !validation_.empty(); }
  /// Whether the dataset consists of examples.
  bool has_examples() const { return !packed_[0].windows.empty(); }
  /// The tokens of a split, in order.
  const Tokens& tokens(Split split) const { return split == Split::train ? train_ : validation_; }

  /// `batch` windows of `block` tokens of a split, drawn with replacement; training windows are drawn by
  /// weights, if set. Depends only on the generator's state. Throws Error for batch < 1 or no tokens.
  Batch random_batch(Split split, int64_t batch, Generator& generator) const;

  /// random_batch() of the training split, as a function of the number of windows and the generator. Borrows
  /// this dataset.
  std::function<Batch(int64_t, Generator&)> training_batches() const;
  /// Windows of the training split without replacement, as a function of their number, a generator, and the
  /// number of windows drawn before. An epoch has consecutive windows in random order, each once; its order
  /// and the start of the first window depend on `seed` and the number of the epoch alone. Windows with
  /// weights are drawn like those of training_batches(). Borrows this dataset; not thread-safe.
  std::function<Batch(int64_t, Generator&, int64_t)> shuffled_batches(uint64_t seed) const;

  /// The whole validation split as consecutive_batches(); empty if there is none.
  std::vector<Batch> validation_batches(int64_t batch) const;
  int64_t validation_targets() const;  ///< the number of targets of validation_batches()
  /// Evenly spaced windows of the validation split with at least `tokens` targets, the same at every call;
  /// the whole split if it has fewer. Throws Error for batch or tokens below 1.
  std::vector<Batch> validation_sample(int64_t batch, int64_t tokens) const;

 private:
  struct Stretch {
    int64_t begin, starts;  // the first start of a window, and the number of them
    double up_to;           // the sum of the weights of all starts up to its end
  };
  int64_t weighted_start(Generator& generator) const;
  /// The windows of the examples of a split.
  struct Packed {
    ExampleList examples;
    std::vector<int64_t> order;    // the examples, as they follow one another in the windows
    std::vector<int64_t> windows;  // of each window: the number of its first example in `order`
  };
  /// `targets`, unless it is null, gets the number of targets of each window.
  static Packed pack(ExampleList examples, int64_t block, Generator order, bool alone,
                     std::vector<int64_t>* targets = nullptr);
  /// The packed windows of these numbers.
  Batch packed_batch(Split split, std::span<const int64_t> windows) const;
  /// Those of the validation split, `batch` in each batch.
  std::vector<Batch> packed_batches(const std::vector<int64_t>& windows, int64_t batch) const;

  Tokens train_, validation_;
  int64_t block_;
  std::vector<Stretch> stretches_;  // empty: all windows have the same probability
  Packed packed_[2];                // of training and validation; empty for a text
  std::vector<int64_t> targets_;    // of each window of packed_[1]
};

}  // namespace gradus::data

/// Structured bindings of a Batch bind x and y.
template <>
struct std::tuple_size<gradus::data::Batch> : std::integral_constant<size_t, 2> {};
/// The same.
template <size_t i>
struct std::tuple_element<i, gradus::data::Batch> : std::type_identity<const gradus::Tensor> {};
