// Vocabulary: byte pairs as files have them, tokens in letters and merges in words, put together and checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "gradus/data/pairs/byte_pairs.hpp"
#include "gradus/files/json.hpp"

namespace gradus::data::pairs {

class Vocabulary {
 public:
  /// `vocab`: an object with the number of each token by its letters, which stays where it is. Up to `added`
  /// tokens may be added to it. Throws Error, as Field does, for a number that is none, or is there twice.
  explicit Vocabulary(const files::Field& vocab, size_t added = 0);

  /// Adds the next merge. Returns the fault, "must ..., got ...", or "".
  std::string add_merge(std::string_view left, std::string_view right);
  /// Adds a special token, which the object may have too. Returns the fault, or "".
  std::string add_special(std::string_view text, int64_t token);

  /// What is neither a byte nor joined by a merge is special; only what was added, if `only_added`. Throws
  /// Error, as Field does, if a byte or a number is missing, or for a token that cannot come about.
  BytePairs take(bool only_added);

 private:
  enum class Origin : uint8_t { missing, unknown, byte, joined, special };

  std::optional<int32_t> find(std::string_view letters) const;
  bool can_be_joined(int32_t token) const;

  files::Field vocab_;
  std::vector<std::string> letters_;                      // by token
  std::unordered_map<std::string_view, int32_t> tokens_;  // by letters_, which stay where they are
  std::vector<Origin> origins_;                           // by token
  std::vector<Merge> merges_;
  std::unordered_set<uint64_t> merged_;
};

/// The tokens as files have them: letters, and special tokens as they are.
std::vector<std::string> letters(const BytePairs& pairs);

/// A JSON object of the numbers of texts, each on a line that begins so.
std::string numbered(const std::vector<std::string>& texts, std::string_view indent);

}  // namespace gradus::data::pairs
