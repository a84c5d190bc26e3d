#include "gradus/data/pairs/vocabulary.hpp"

#include <algorithm>
#include <cstdio>

#include "gradus/data/pairs/byte_pairs.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/files/utf8.hpp"

namespace gradus::data::pairs {

using files::in_quotes;

Vocabulary::Vocabulary(const files::Field& vocab, size_t added)
    : vocab_(vocab), letters_(vocab.size() + added), origins_(letters_.size(), Origin::missing) {
  tokens_.reserve(letters_.size());
  const auto last = static_cast<int64_t>(letters_.size()) - 1;
  for (const auto& [letters, number] : vocab.members()) {
    const auto token = static_cast<int32_t>(number.integer(0, last));
    const auto at = static_cast<size_t>(token);
    if (origins_[at] != Origin::missing)
      number.refuse("must differ from other tokens' numbers, got ", token, ", which ",
                    in_quotes(letters_[at]), " has.");
    origins_[at] = Origin::unknown;
    letters_[at] = letters;
    tokens_.emplace(letters_[at], token);
  }
  for (int32_t byte = 0; byte < kBytes; ++byte) {
    const std::string letter = files::to_utf8(letter_of(static_cast<unsigned char>(byte)));
    const std::optional<int32_t> token = find(letter);
    char code[8];
    std::snprintf(code, sizeof code, "0x%02x", static_cast<unsigned>(byte));
    if (!token) vocab.refuse("must have all 256 bytes, got none for ", code, ", ", in_quotes(letter), ".");
    origins_[static_cast<size_t>(*token)] = Origin::byte;
  }
}

std::optional<int32_t> Vocabulary::find(std::string_view letters) const {
  const auto found = tokens_.find(letters);
  if (found == tokens_.end()) return {};
  return found->second;
}

bool Vocabulary::can_be_joined(int32_t token) const {
  const Origin origin = origins_[static_cast<size_t>(token)];
  return origin == Origin::byte || origin == Origin::joined;
}

std::string Vocabulary::add_merge(std::string_view left, std::string_view right) {
  const std::string joined = std::string(left) + std::string(right);
  const std::optional<int32_t> l = find(left), r = find(right), j = find(joined);
  for (const auto& [text, token] : {std::pair{left, l}, std::pair{right, r}}) {
    if (!token)
      return concat("must join tokens of the vocabulary, got ", in_quotes(text), ", which is none.");
    if (!can_be_joined(*token))
      return concat("must join bytes or results of earlier merges, got ", in_quotes(text), ".");
  }
  if (!j) return concat("must make a token of the vocabulary, got ", in_quotes(joined), ", which is none.");
  if (!merged_.insert(pair_key(*l, *r)).second)
    return concat("must not be listed twice, got ", in_quotes(left), " and ", in_quotes(right), " again.");
  origins_[static_cast<size_t>(*j)] = Origin::joined;
  merges_.push_back({*l, *r, *j});
  return "";
}

std::string Vocabulary::add_special(std::string_view text, int64_t token) {
  if (text.empty()) return "must have a text, got none.";
  const auto at = static_cast<size_t>(token);
  if (token < 0 || at >= letters_.size())
    return concat("must be a number in [0, ", letters_.size(), "), got ", token, ".");
  const std::optional<int32_t> known = find(text);
  if ((known && *known != token) || (!known && origins_[at] != Origin::missing))
    return concat("must be the same token in the vocabulary, got ", token, " for ", in_quotes(text), ".");
  if (known && origins_[at] != Origin::unknown)
    return concat("must be neither a byte nor joined by a merge nor listed twice, got ", in_quotes(text),
                  ".");
  origins_[at] = Origin::special;
  if (!known) {
    letters_[at] = text;
    tokens_.emplace(letters_[at], static_cast<int32_t>(token));
  }
  return "";
}

BytePairs Vocabulary::take(bool only_added) {
  const size_t size = tokens_.size();
  std::vector<std::string> texts(size);
  std::vector<int32_t> specials;
  for (size_t token = 0; token < size; ++token) {
    Origin& origin = origins_[token];
    std::string& letters = letters_[token];
    if (origin == Origin::missing)
      vocab_.refuse("must have the tokens 0 to ", size - 1, ", got none with the number ", token, ".");
    if (origin == Origin::unknown) {
      if (only_added || letters.empty())
        vocab_.refuse("must have bytes, results of merges and special tokens only, got ", in_quotes(letters),
                      ".");
      origin = Origin::special;
    }
    if (origin == Origin::special) specials.push_back(static_cast<int32_t>(token));
    texts[token] = origin == Origin::special ? std::move(letters) : *bytes_of(letters);
  }
  return {std::move(texts), std::move(merges_), std::move(specials)};
}

std::vector<std::string> letters(const BytePairs& pairs) {
  std::vector<std::string> all;
  for (int32_t token = 0; token < pairs.size(); ++token) {
    const bool special = std::binary_search(pairs.specials().begin(), pairs.specials().end(), token);
    all.push_back(special ? pairs.text(token) : letters_of(pairs.text(token)));
  }
  return all;
}

std::string numbered(const std::vector<std::string>& texts, std::string_view indent) {
  std::string json = "{";
  for (size_t i = 0; i < texts.size(); ++i)
    json += concat(i == 0 ? "\n" : ",\n", indent, "  ", files::json_text(texts[i]), ": ", i);
  return concat(json, "\n", indent, "}");
}

}  // namespace gradus::data::pairs
