// PairTrainer: learns a tokenizer of byte pairs from texts.
//
// As GPT-2's was learnt (Sennrich et al., arXiv 1508.07909, on bytes): within words of its pattern, the pair
// of tokens that occurs most often becomes a token, again and again. Equally frequent pairs are taken in the
// order of their tokens' numbers, so the same texts give the same tokenizer, in any order. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "gradus/data/tokenizer.hpp"

namespace gradus::data {

namespace pairs {
class WordCounts;
}

class PairTrainer {
 public:
  PairTrainer();
  ~PairTrainer();

  /// Counts the words of a text, which may go afterwards. No word reaches from one text into the next.
  void add(std::string_view text);
  /// The bytes in GPT-2's order, what was joined, and <|endoftext|>: `vocab_size` tokens, or fewer when no
  /// pair occurs twice any more. Throws Error for a size out of [Tokenizer::kLeastPairs,
  /// Tokenizer::kMostPairs].
  Tokenizer train(int64_t vocab_size) const;

 private:
  std::unique_ptr<pairs::WordCounts> words_;
};

}  // namespace gradus::data
