// Prints the results of `gradus look` as text, as JSON, as tensors and as a page. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gradus/annexes/pages/look/look.hpp"
#include "gradus/data/tokenizer.hpp"

namespace gradus::cli {

/// Where the tokens came from.
struct TextOrigin {
  std::string file;         ///< empty: from --prompt
  int64_t token_count = 0;  ///< of the whole text
};

/// Borrows its arguments.
class LookReport {
 public:
  /// `unchanged` is the look without the changes, if there are any.
  LookReport(const data::Tokenizer& tokenizer, const look::Look& look,
             const std::optional<look::Look>& unchanged, const TextOrigin& origin)
      : tokenizer_(tokenizer), look_(look), unchanged_(unchanged), origin_(origin) {}

  void text() const;                            ///< to the standard output
  void json() const;                            ///< to the standard output
  void tensors(const std::string& path) const;  ///< Throws RunError if the file cannot be written.
  /// Whether the first bytes of a file are those of one of tensors().
  static bool is_tensors(std::string_view beginning);
  /// `title` and `model` describe the model. Throws RunError if the file cannot be written.
  void html(const std::string& path, const std::string& title, const std::string& model) const;

 private:
  std::string text_of(int64_t token) const;
  std::string quoted(int64_t token) const;
  void print_tokens() const;
  void print_heads() const;

  const data::Tokenizer& tokenizer_;
  const look::Look& look_;
  const std::optional<look::Look>& unchanged_;
  const TextOrigin& origin_;
};

}  // namespace gradus::cli
