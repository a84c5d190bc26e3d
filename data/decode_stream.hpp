// DecodeStream: text as its tokens come, one by one, never cut within a character. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "gradus/data/tokenizer.hpp"

namespace gradus::data {

class DecodeStream {
 public:
  /// Borrows the tokenizer.
  explicit DecodeStream(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

  /// The text that is whole with this token; bytes that may be the beginning of a character wait for the
  /// rest, up to three of them. All that is returned makes decode() of all tokens, byte for byte. Throws
  /// Error for a token outside the vocabulary.
  std::string step(int32_t token);
  /// At the end: what waited in vain.
  std::string finish();

 private:
  const Tokenizer* tokenizer_;
  std::string waiting_;
};

}  // namespace gradus::data
