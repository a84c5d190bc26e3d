// AddedTokens: finds the tokens in a text that are added to a vocabulary and take part in no merge, such as
// <|endoftext|>. Immutable, so thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gradus::data::pairs {

struct AddedToken {
  std::string text;
  int32_t token = 0;
  bool special = true;      ///< only for encode_with_specials()
  bool normalized = false;  ///< is found in the normalized text
  bool operator==(const AddedToken&) const = default;
};

class AddedTokens {
 public:
  static constexpr size_t kLongest = 256;  ///< bytes of a text: each byte of a text could begin one

  /// Throws Error for a longer one.
  explicit AddedTokens(std::vector<AddedToken> tokens = {});

  /// Calls piece(text) and found(token) in the order of the text: the token that occurs first is found, and
  /// of several at one place the longest. Empty pieces are left out.
  template <class Piece, class Found>
  void split(std::string_view text, bool specials, Piece&& piece, Found&& found) const {
    size_t done = 0;
    for (size_t at = 0; at < text.size() && !tokens_.empty();) {
      const AddedToken* const token = longest(text.substr(at), specials);
      if (token == nullptr) {
        ++at;
        continue;
      }
      if (at > done) piece(text.substr(done, at - done));
      found(token->token);
      done = at += token->text.size();
    }
    if (done < text.size()) piece(text.substr(done));
  }

 private:
  const AddedToken* longest(std::string_view text, bool specials) const {
    const auto [begin, end] = of_first_[static_cast<unsigned char>(text[0])];
    return begin == end ? nullptr : longest(text, specials, begin, end);
  }
  const AddedToken* longest(std::string_view text, bool specials, size_t begin, size_t end) const;

  std::vector<AddedToken> tokens_;                         // by text
  std::array<std::pair<size_t, size_t>, 256> of_first_{};  // by first byte, their range
};

}  // namespace gradus::data::pairs
