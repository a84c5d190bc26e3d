// BytePairs: byte pair encoding (Sennrich et al., arXiv 1508.07909; on bytes, Radford et al. 2019).
//
// A token is a byte, or two tokens joined by a merge. A word (words.hpp, rules.hpp) begins as its bytes, or
// as its characters; the first merge in the list that fits is applied everywhere in it, from left to right,
// until none fits. Every text can be encoded, and decodes to the same bytes unless the rules change it.
// Immutable, so thread-safe.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gradus/data/pairs/added_tokens.hpp"
#include "gradus/data/pairs/rules.hpp"

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

/// Numbers by pairs of tokens: a hash table with linear probing, half empty, because most lookups fail.
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

/// A vocabulary with the rules for its use.
struct Model {
  std::vector<std::string> texts;         ///< by token, what decode() gives; "" for numbers without a token
  std::vector<std::string> names{};       ///< of characters only: by token, its text in the file
  std::array<int32_t, kBytes> of_byte{};  ///< the token of each byte
  std::vector<Merge> merges;              ///< by priority
  std::vector<AddedToken> added;          ///< found in a text before it is cut into words
  Rules rules{};                          ///< by default GPT-2's
  bool operator==(const Model&) const = default;
};

/// A model with tables for encoding. The caller, who knows the place in a file, must check the model.
class BytePairs {
 public:
  explicit BytePairs(Model model);
  BytePairs(BytePairs&&) = default;
  BytePairs(const BytePairs&) = delete;  // the tables have views of the texts
  BytePairs& operator=(const BytePairs&) = delete;

  const Model& model() const { return model_; }
  int64_t size() const { return static_cast<int64_t>(model_.texts.size()); }
  const std::string& text(int32_t token) const { return model_.texts[static_cast<size_t>(token)]; }
  /// The text of a token in files: letters; those of characters and special tokens unchanged.
  std::string letters(int32_t token) const;
  const std::vector<int32_t>& specials() const { return specials_; }  ///< ascending
  /// Whether words are GPT-2's, all added tokens are special, and nothing else is asked for.
  bool follows_gpt2() const;
  /// The same with more special tokens after the others.
  BytePairs with_specials(const std::vector<std::string>& more) const;
  /// The same without the tokens from `size` on, which must be added tokens.
  BytePairs cut_to(size_t size) const;

  /// Appends the tokens of a text. Special tokens are found only with `specials`, other added tokens always.
  void encode(std::string_view text, bool specials, std::vector<int32_t>& tokens) const;

  bool operator==(const BytePairs& other) const { return model_ == other.model_; }

 private:
  friend class Encoder;

  Model model_;
  std::vector<int32_t> specials_;
  AddedTokens added_, added_normalized_;
  PairTable ranks_;                                        // by pair, the index in model_.merges
  std::unordered_map<std::string_view, int32_t> by_text_;  // of words if merges are ignored, of characters
  std::array<bool, 256>
      joins_space_{};  // by the last byte of a token, whether a merge adds rules.space to it
};

}  // namespace gradus::data::pairs
