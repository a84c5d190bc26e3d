#include "gradus/data/pairs/added_tokens.hpp"

#include <algorithm>

#include "gradus/files/error.hpp"

namespace gradus::data::pairs {

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  for (const AddedToken& one : tokens_)
    if (one.text.size() > kLongest)
      fail("tokenizer", "an added token must have at most ", kLongest, " bytes, got ", one.text.size(), ".");
  std::ranges::sort(tokens_, {}, &AddedToken::text);
  for (size_t i = 0; i < tokens_.size(); ++i) {
    auto& [begin, end] = of_first_[static_cast<unsigned char>(tokens_[i].text[0])];
    if (begin == end) begin = i;
    end = i + 1;
  }
}

const AddedToken* AddedTokens::longest(std::string_view text, bool specials, size_t begin, size_t end) const {
  const AddedToken* best = nullptr;
  // The texts in [begin, end) share their first `size` bytes with `text`.
  for (size_t size = 1; begin < end; ++size) {
    const AddedToken& shortest = tokens_[begin];
    if (shortest.text.size() == size) {
      if (specials || !shortest.special) best = &shortest;
      ++begin;
    }
    if (size == text.size()) break;
    const auto next = static_cast<unsigned char>(text[size]);
    const auto byte = [&](const AddedToken& token) { return static_cast<unsigned char>(token.text[size]); };
    const auto first = tokens_.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = tokens_.begin() + static_cast<std::ptrdiff_t>(end);
    const auto from =
        std::partition_point(first, last, [&](const auto& token) { return byte(token) < next; });
    const auto to = std::partition_point(from, last, [&](const auto& token) { return byte(token) == next; });
    begin = static_cast<size_t>(from - tokens_.begin());
    end = static_cast<size_t>(to - tokens_.begin());
  }
  return best;
}

}  // namespace gradus::data::pairs
