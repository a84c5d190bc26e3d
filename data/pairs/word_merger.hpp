// WordMerger: the tokens of one word after another, by the rules of a vocabulary, which it borrows. Keeps the
// memory that a word takes for the next. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "gradus/data/pairs/byte_letters.hpp"
#include "gradus/data/pairs/pair_table.hpp"

namespace gradus::data::pairs {

/// Tokens that become another where they stand side by side.
struct Merge {
  int32_t left, right, joined;
  bool operator==(const Merge&) const = default;
};

/// What becomes of bytes.
struct MergeRules {
  explicit MergeRules(std::vector<Merge> all);

  std::vector<Merge> merges;              ///< the first to be made first
  PairTable ranks;                        ///< the place in `merges` of each
  std::array<int32_t, kBytes> of_byte{};  ///< the token of each byte
};

class WordMerger {
 public:
  explicit WordMerger(const MergeRules& rules) : rules_(rules) {}

  /// Adds the tokens of a word of n bytes, which takes time n log n.
  void encode(std::string_view word, std::vector<int32_t>& tokens);

 private:
  // Tokens of the word, each where its first byte is.
  struct Part {
    int32_t token;  // kGone within another
    uint32_t before, behind;
  };
  void offer(uint32_t at);

  const MergeRules& rules_;
  std::vector<Part> parts_;
  std::vector<uint64_t> heap_;  // rank of a merge, and where; the least first
};

}  // namespace gradus::data::pairs
