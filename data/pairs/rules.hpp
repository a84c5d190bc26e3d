// Rules: what a tokenizer does with a text before it merges pairs, as tokenizer.json describes it.
#pragma once

#include <functional>
#include <limits>
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

/// Bytes that a normalizer may make of one byte of a long text.
inline constexpr size_t kMostGrowth = 16;

/// The text after all changes. NFC is Unicode's normalization form C; bytes that are not UTF-8 stay. Throws
/// Error if the text grows beyond kMostGrowth.
std::string normalized(std::string_view text, const std::vector<Normalization>& steps);

/// The text with every `from`, which must not be empty, replaced by `to`. Throws Error if it had more than
/// `most` bytes.
std::string replaced(std::string_view text, std::string_view from, std::string_view to,
                     size_t most = std::numeric_limits<size_t>::max() / 2);

/// A regular expression of tokenizer.json. The syntax is that of Oniguruma, which Hugging Face's `tokenizers`
/// uses, as far as PCRE2 agrees: classes and white space are Unicode's, and ^ and $ match at line ends.
class Pattern;
/// Throws std::invalid_argument with PCRE2's message if it is no regular expression.
std::shared_ptr<const Pattern> compiled(const std::string& expression);

/// Seconds of a processor that cutting a text may take, and more for each byte. A pattern that backtracks can
/// take n^2 steps for n bytes, or 2^n.
inline constexpr double kMostSeconds = 0.5, kSecondsOfByte = 2e-6;

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
  double deadline_ = 0;  // of the thread's processor time; 0 before the first text
};

}  // namespace gradus::data::pairs
