// BytePairs: byte pair encoding (Sennrich et al., arXiv 1508.07909; on bytes, Radford et al. 2019).
//
// A token is a byte, or two tokens joined by a merge. A word (words.hpp) begins as its bytes; the first merge
// in the list that fits is applied everywhere in it, from left to right, until none fits. Every text can be
// encoded, and decodes to the same bytes. Immutable, so thread-safe.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/data/pairs/added_tokens.hpp"

namespace gradus::data::pairs {

inline constexpr int32_t kBytes = 256;  ///< number of bytes

// Files of byte pairs are texts, in which each byte is a visible character, its letter: for bytes that print
// in Latin-1 the same character, for the other 68 U+0100 and up; the letter of the space is Ġ
// (`bytes_to_unicode` in OpenAI's encoder.py).

/// The letter of a byte.
char32_t letter_of(unsigned char byte);
/// Bytes as letters, in UTF-8.
std::string letters_of(std::string_view bytes);
/// The inverse; none if a character is not a letter.
std::optional<std::string> bytes_of(std::string_view letters);
/// The bytes in the order of their letters, which is that of GPT-2's vocabulary: token 0 is '!'.
const std::array<unsigned char, kBytes>& bytes_by_letter();

/// Two adjacent tokens as one number, which sorts by the left one first.
constexpr uint64_t pair_key(int32_t left, int32_t right) {
  return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
}

/// Numbers by pairs of tokens: a hash table with linear probing, at least half empty, because most lookups
/// fail.
class PairTable {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  /// A table for up to `most` pairs.
  explicit PairTable(size_t most) : slots_(std::bit_ceil(2 * most + 2)) {}

  /// Adds a key that is not in the table.
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

/// The merges of a vocabulary, with tables for encoding.
struct MergeRules {
  explicit MergeRules(std::vector<Merge> all);

  std::vector<Merge> merges;              ///< in order of priority
  PairTable ranks;                        ///< by pair, the index in `merges`
  std::array<int32_t, kBytes> of_byte{};  ///< the token of each byte
};

class BytePairs {
 public:
  /// `texts`: the bytes of each token. `merges`: by priority; each must join bytes or results of earlier
  /// merges. `specials`: the special tokens. All 256 bytes must be tokens. The caller must check this,
  /// because it knows the place in a file for errors.
  BytePairs(std::vector<std::string> texts, std::vector<Merge> merges, std::vector<int32_t> specials);

  /// The same with more special tokens after the others.
  BytePairs with_specials(const std::vector<std::string>& more) const;

  int64_t size() const { return static_cast<int64_t>(texts_.size()); }
  const std::string& text(int32_t token) const { return texts_[static_cast<size_t>(token)]; }
  const std::vector<Merge>& merges() const { return rules_.merges; }
  const std::vector<int32_t>& specials() const { return specials_; }  ///< ascending

  /// Appends the tokens of a text without special tokens.
  void encode(std::string_view text, std::vector<int32_t>& tokens) const;
  /// Appends the tokens of a text in which the text of a special token becomes that token: the first that
  /// occurs, and of several at one place the longest.
  void encode_with_specials(std::string_view text, std::vector<int32_t>& tokens) const;

  bool operator==(const BytePairs& other) const {
    return texts_ == other.texts_ && merges() == other.merges() && specials_ == other.specials_;
  }

 private:
  std::vector<std::string> texts_;
  MergeRules rules_;
  std::vector<int32_t> specials_;
  AddedTokens added_;
};

}  // namespace gradus::data::pairs
