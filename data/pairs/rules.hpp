// Rules: what a tokenizer does with a text before it merges pairs, as tokenizer.json describes it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::data::pairs {

/// Changes a text.
struct Normalization {
  enum class Kind { nfc, prepend, replace } kind = Kind::nfc;
  std::string from, to;  ///< prepend: `to`; replace: every `from` by `to`
  bool operator==(const Normalization&) const = default;
};

/// The text after all changes. NFC is Unicode's normalization form C; bytes that are not UTF-8 stay.
std::string normalized(std::string_view text, const std::vector<Normalization>& steps);

/// The text with every `from`, which must not be empty, replaced by `to`.
std::string replaced(std::string_view text, std::string_view from, std::string_view to);

/// A regular expression of tokenizer.json. The syntax is that of Oniguruma, which Hugging Face's `tokenizers`
/// uses, as far as PCRE2 agrees: classes and white space are Unicode's, and ^ and $ match at line ends.
class Pattern;
/// Throws std::invalid_argument with PCRE2's message if it is no regular expression.
std::shared_ptr<const Pattern> compiled(const std::string& expression);

/// Steps that the matches of a text may take beyond those that its size allows.
inline constexpr int64_t kMostSteps = 5'000'000;

/// Cuts a text at the matches of a pattern.
struct Split {
  /// The words: matches and what lies before them, both as one word, or matches only.
  enum class Behavior { isolated, merged_with_previous, matches };

  std::string expression;  ///< "": GPT-2's words (words.hpp)
  Behavior behavior = Behavior::isolated;
  std::shared_ptr<const Pattern> pattern{};

  bool operator==(const Split& other) const {
    return expression == other.expression && behavior == other.behavior;
  }
};

struct Rules {
  std::vector<Normalization> normalizer{};
  std::vector<Split> splits{Split{}};
  bool of_characters = false;  ///< words begin as characters, and as bytes <0x00> to <0xFF> for unknown ones
  bool ignore_merges = false;  ///< a word that is a token is this token
  std::string space{};         ///< decoding replaces this by a space; of characters only
  bool operator==(const Rules&) const = default;
};

/// Cuts the parts of a text into words. Borrows the splits. Not thread-safe.
class Splitter {
 public:
  using Use = std::function<void(std::string_view word)>;
  explicit Splitter(const std::vector<Split>& splits) : splits_(splits) {}

  /// Uses the words of a part in their order, without those that are empty.
  void words(std::string_view text, const Use& use);

 private:
  /// Cuts by the splits from `level` on.
  void cut(size_t level, std::string_view part, std::string_view same_classes, const Use& use);

  const std::vector<Split>& splits_;
  std::string changed_;
  int64_t steps_ = kMostSteps;
};

}  // namespace gradus::data::pairs
