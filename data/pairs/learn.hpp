// Learning byte pairs: which tokens to join, from how often they stand side by side in a text.
//
// Sennrich et al., arXiv 1508.07909, algorithm 1, on bytes and within GPT-2's words: the pair that occurs
// most often becomes a token, and of those that occur equally often the one with the smaller left token, then
// the smaller right one; again and again. Pairs are counted wherever they stand, twice in "aaa". A pair whose
// joining is a token already is passed over. Deterministic.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "gradus/data/pairs/byte_pairs.hpp"

namespace gradus::data::pairs {

/// How often each word occurs. Not thread-safe.
class WordCounts {
 public:
  /// Adds the words of a text. No word reaches from one text into the next.
  void add(std::string_view text);

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view word) const { return std::hash<std::string_view>()(word); }
  };
  friend BytePairs learn(const WordCounts& words, int64_t size, std::string_view special);

  std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> counts_;
};

/// A vocabulary of `size` tokens, at least 257: the bytes in GPT-2's order, what was joined, and `special`
/// last. Fewer if no pair occurs twice any more. Words of n bytes in all, each counted once, take time
/// n log n.
BytePairs learn(const WordCounts& words, int64_t size, std::string_view special);

}  // namespace gradus::data::pairs
