// BytePairs: a vocabulary of byte pairs (Sennrich et al., arXiv 1508.07909; on bytes, Radford et al. 2019),
// and the text to tokens and back that it stands for.
//
// A token is a byte or the joining of two tokens by a merge. A word (words.hpp) begins as its bytes; the
// merge that was listed first is made wherever it applies, from left to right, until none does. Every text
// can be encoded, and comes back byte for byte. Thread-safety: immutable once made.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/data/pairs/word_merger.hpp"

namespace gradus::data::pairs {

class BytePairs {
 public:
  /// `texts`: the bytes of each token. `merges`: the first one first; each must join tokens that are bytes or
  /// joined by merges before it. `specials`: the tokens that no merge makes. All 256 bytes must be among the
  /// tokens. Nothing of this is checked here: whoever reads a file can say where it is wrong.
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
