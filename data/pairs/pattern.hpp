// Pattern: a regular expression of tokenizer.json, matched by PCRE2. The syntax is that of Oniguruma, which
// Hugging Face's `tokenizers` uses, as far as both agree: classes and white space are Unicode's, and ^ and $
// match at line ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace gradus::data::pairs {

/// Steps that the matches of a text may take beyond those that its size allows.
inline constexpr int64_t kMostSteps = 5'000'000;

/// Immutable, so thread-safe.
class Pattern {
 public:
  /// Throws std::invalid_argument with PCRE2's message if it is no regular expression.
  explicit Pattern(const std::string& expression);

  /// The beginning and the end of the first match at or after `from`. `text` must be UTF-8. `steps` must be
  /// kMostSteps before the first match of a text. Throws Error if the matches take too many.
  std::optional<std::pair<size_t, size_t>> find(std::string_view text, size_t from, int64_t& steps) const;

 private:
  struct Code;
  std::shared_ptr<const Code> code_;
};

/// A text for patterns, of the same length and, character by character, the same classes: bytes that are not
/// UTF-8 become U+0001, U+180E, which counts as white space in PCRE2 only, U+200B, and others what they are
/// in_unicode_14(). `changed` has the memory for it.
std::string_view for_patterns(std::string_view text, std::string& changed);

}  // namespace gradus::data::pairs
