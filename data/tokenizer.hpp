// Tokenizer: text to token numbers and back, by characters of the training text or by bytes.
//
// A plain value that owns its vocabulary. Thread-safety: immutable once made, so one may be shared by
// threads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::data {

class Tokenizer {
 public:
  /// One token for each Unicode code point that occurs in `text`, in ascending order. Throws Error if `text`
  /// is empty or not UTF-8, naming the offset of the first bad byte.
  static Tokenizer characters(std::string_view text);
  /// The 256 bytes, token b for byte b: encodes any text, and any other file.
  static Tokenizer bytes();
  /// What make() takes: char and byte.
  static std::vector<std::string> kinds() { return {"char", "byte"}; }
  /// characters(text) for kind "char", bytes() for kind "byte". Throws Error for another kind.
  static Tokenizer make(std::string_view kind, std::string_view text);

  /// One of kinds().
  std::string_view kind() const { return characters_.empty() ? "byte" : "char"; }
  /// How many tokens there are: 0 up to, and without, this.
  int64_t vocab_size() const { return characters_.empty() ? 256 : static_cast<int64_t>(characters_.size()); }

  /// Whether a text with this character can be encoded.
  bool has(char32_t character) const;

  /// The tokens of `text`. Throws Error if it is not UTF-8 or has characters that the vocabulary lacks,
  /// naming the first few and their places (characters counted from 1); never for bytes.
  std::vector<int32_t> encode(std::string_view text) const;
  /// The text of `tokens`: decode(encode(text)) == text, byte for byte, and decode(a) + decode(b) == decode(a
  /// + b). Byte tokens may end within a character. Throws Error for a token outside [0, vocab_size()).
  std::string decode(std::span<const int32_t> tokens) const;
  /// How many bytes of text `tokens` stand for: bits per byte = nats per token / ln 2 * tokens / bytes.
  /// Throws Error for a token outside [0, vocab_size()).
  int64_t byte_count(std::span<const int32_t> tokens) const;

  /// The text of vocab.json: {"tokenizer": "char", "characters": "..."}, token i being the i-th character; or
  /// {"tokenizer": "byte"}.
  std::string to_json() const;
  /// What to_json() wrote. Throws Error, naming `file`, for anything else.
  static Tokenizer from_json(std::string_view json, const std::string& file = "vocab.json");

  bool operator==(const Tokenizer&) const = default;

 private:
  explicit Tokenizer(std::u32string characters) : characters_(std::move(characters)) {}
  char32_t character(int32_t token) const;  // checked

  std::u32string characters_;  // ascending; empty for bytes
};

}  // namespace gradus::data
