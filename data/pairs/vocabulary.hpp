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

/// Tokens without a place among the numbers of others, such as the padding of a vocabulary, at most.
inline constexpr int64_t kMostHoles = 65536;

class Vocabulary {
 public:
  /// `vocab`: an object with the number of each token by its text, by default in letters; borrowed. Up to
  /// `added` tokens may be added. Throws Error, as Field does, if a byte is missing, and for a number that is
  /// invalid or duplicate. With `strict`, numbers have no holes, and merges join what earlier ones made.
  explicit Vocabulary(const files::Field& vocab, bool strict = true, size_t added = 0, Rules rules = {});

  /// Adds the next merge. Returns an error, "must ..., got ...", or "".
  std::string add_merge(std::string_view left, std::string_view right);
  /// Adds a token that takes part in no merge, which the object may have too. Returns an error, or "".
  std::string add(AddedToken token);

  /// The result. If strict, tokens that are neither bytes nor merged are special. Throws Error, as Field
  /// does, also if a number is missing.
  BytePairs take();

 private:
  enum class Origin : uint8_t { missing, unknown, byte, joined, added };

  std::optional<int32_t> find(std::string_view text) const;
  bool can_be_joined(int32_t token) const;

  files::Field vocab_;
  bool strict_;
  Model model_;
  std::vector<std::string> names_;                        // by token
  std::unordered_map<std::string_view, int32_t> tokens_;  // by names_, which stay where they are
  std::vector<Origin> origins_;                           // by token
  std::unordered_set<uint64_t> merged_;
  std::unordered_set<int32_t> added_;
};

/// A JSON object with the number of each text, one per line, indented.
std::string numbered(const std::vector<std::string>& texts, std::string_view indent);

}  // namespace gradus::data::pairs
