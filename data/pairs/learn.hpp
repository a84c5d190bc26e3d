// Learns byte pairs from a text (Sennrich et al., arXiv 1508.07909, algorithm 1, on bytes and within GPT-2's
// words): repeatedly the most frequent pair becomes a token; of equally frequent ones the one with the
// smaller left token, then the smaller right one. Overlapping pairs count: "aaa" has two. A pair whose text
// is already a token is skipped.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "gradus/data/pairs/byte_pairs.hpp"

namespace gradus::data::pairs {

/// The number of occurrences of each word. Not thread-safe.
class WordCounts {
 public:
  /// Adds the words of a text. Words end at the end of the text.
  void add(std::string_view text);

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view word) const { return std::hash<std::string_view>()(word); }
  };
  friend BytePairs learn(const WordCounts& words, int64_t size, std::string_view special);

  std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> counts_;
};

/// A vocabulary of `size` tokens, at least 257: the bytes in GPT-2's order, the joined tokens, and `special`
/// last. Fewer if no pair occurs twice. Takes time n log n for distinct words of n bytes in total.
BytePairs learn(const WordCounts& words, int64_t size, std::string_view special);

}  // namespace gradus::data::pairs
