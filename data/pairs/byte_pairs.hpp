// BytePairs: a vocabulary of byte pairs (Sennrich et al., arXiv 1508.07909; on bytes, Radford et al. 2019),
// which turns text into tokens and back.
//
// A token is a byte or two tokens joined by a merge. The tokens of a word (words.hpp) are at first its bytes;
// the merge that is listed first is applied wherever it fits, from left to right, until none fits. Every text
// can be encoded, and decodes to the same bytes. Thread-safety: immutable once made.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/data/pairs/byte_letters.hpp"

namespace gradus::data::pairs {

/// Two tokens side by side, as one number that sorts by the left one first.
constexpr uint64_t pair_key(int32_t left, int32_t right) {
  return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
}

/// Numbers of pairs of tokens, looked up a few times for each word that is encoded. A flat table with linear
/// probing, half empty, because most pairs that are looked up are not in it.
class PairTable {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  /// A table for up to `most` pairs.
  explicit PairTable(size_t most) : slots_(std::bit_ceil(2 * most + 2)) {}

  /// Adds a key that is not in the table yet.
  void add(uint64_t key, uint32_t number) { slots_[slot_of(key)] = {key, number}; }
  /// The number of a pair; kNone if it was not added.
  uint32_t find(uint64_t key) const { return slots_[slot_of(key)].number; }

 private:
  struct Slot {
    uint64_t key = 0;
    uint32_t number = kNone;
  };

  /// The slot of the key, or the empty slot where it belongs.
  size_t slot_of(uint64_t key) const {
    const size_t last = slots_.size() - 1;
    size_t at = static_cast<size_t>(key * 0x9E3779B97F4A7C15u >> 32) & last;  // Fibonacci hashing
    while (slots_[at].number != kNone && slots_[at].key != key) at = (at + 1) & last;
    return at;
  }

  std::vector<Slot> slots_;
};

/// Two adjacent tokens and the token that replaces them.
struct Merge {
  int32_t left, right, joined;
  bool operator==(const Merge&) const = default;
};

/// How bytes are joined.
struct MergeRules {
  explicit MergeRules(std::vector<Merge> all);

  std::vector<Merge> merges;              ///< the first has priority
  PairTable ranks;                        ///< by pair, the index in `merges`
  std::array<int32_t, kBytes> of_byte{};  ///< the token of each byte
};

class BytePairs {
 public:
  /// `texts`: the bytes of each token. `merges`: by priority; each must join tokens that are bytes or joined
  /// by merges before it. `specials`: the tokens that no merge makes. All 256 bytes must be among the tokens.
  /// None of this is checked here: the reader of a file can name the line.
  BytePairs(std::vector<std::string> texts, std::vector<Merge> merges, std::vector<int32_t> specials);

  int64_t size() const { return static_cast<int64_t>(texts_.size()); }
  const std::string& text(int32_t token) const { return texts_[static_cast<size_t>(token)]; }
  const std::vector<Merge>& merges() const { return rules_.merges; }
  const std::vector<int32_t>& specials() const { return specials_; }  ///< ascending

  /// Adds the tokens of a text in which nothing is special.
  void encode(std::string_view text, std::vector<int32_t>& tokens) const;
  /// Adds the tokens of a text in which the texts of special tokens stand for these: the first that occurs,
  /// and of those that begin at one place the longest.
  void encode_with_specials(std::string_view text, std::vector<int32_t>& tokens) const;

  bool operator==(const BytePairs& other) const {
    return texts_ == other.texts_ && merges() == other.merges() && specials_ == other.specials_;
  }

 private:
  std::vector<std::string> texts_;
  MergeRules rules_;
  std::vector<int32_t> specials_;
};

}  // namespace gradus::data::pairs
