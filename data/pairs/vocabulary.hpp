// Vocabulary: assembles and checks byte pairs that are read from files.
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
  /// `vocab`: an object with the number of each token by its letters; borrowed. Up to `added` tokens may be
  /// added. Throws Error, as Field does, if a byte is missing, and for a number that is invalid or duplicate.
  explicit Vocabulary(const files::Field& vocab, size_t added = 0);

  /// Adds the next merge. Returns an error, "must ..., got ...", or "".
  std::string add_merge(std::string_view left, std::string_view right);
  /// Adds a special token, which the object may have too. Returns an error, or "".
  std::string add_special(std::string_view text, int64_t token);

  /// The result. Tokens that are neither bytes nor merged are special; with `only_added` they are an error
  /// unless they were added. Throws Error, as Field does, also if a number is missing.
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

/// The texts of the tokens in files: letters, but special tokens unchanged.
std::vector<std::string> letters(const BytePairs& pairs);

/// A JSON object with the number of each text, one per line, indented.
std::string numbered(const std::vector<std::string>& texts, std::string_view indent);

}  // namespace gradus::data::pairs
