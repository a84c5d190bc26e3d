#include "gradus/data/pairs/vocabulary.hpp"

#include <algorithm>
#include <cstdio>

#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/files/utf8.hpp"

namespace gradus::data::pairs {

using files::in_quotes;

Vocabulary::Vocabulary(const files::Field& vocab, bool strict, size_t added, Rules rules)
    : vocab_(vocab), strict_(strict) {
  model_.rules = std::move(rules);
  const auto most = static_cast<int64_t>(vocab.size() + added) + (strict ? 0 : kMostHoles);
  std::vector<std::pair<std::string_view, int32_t>> members;
  int32_t last = -1;
  for (const auto& [name, number] : vocab.members()) {
    members.emplace_back(name, static_cast<int32_t>(number.integer(0, most - 1)));
    last = std::max(last, members.back().second);
  }
  // Added tokens can have any number up to `most`, and texts must stay where they are.
  names_.resize(static_cast<size_t>(most));
  origins_.resize(names_.size());
  tokens_.reserve(members.size() + added);
  for (size_t i = 0; i < members.size(); ++i) {
    const auto [name, token] = members[i];
    const auto at = static_cast<size_t>(token);
    if (origins_[at] != Origin::missing)
      vocab.at(name).refuse("must differ from other tokens' numbers, got ", token, ", which ",
                            in_quotes(names_[at]), " has.");
    origins_[at] = Origin::unknown;
    names_[at] = name;
    tokens_.emplace(names_[at], token);
  }
  for (int32_t byte = 0; byte < kBytes; ++byte) {
    char code[8];
    std::snprintf(code, sizeof code, model_.rules.of_characters ? "<0x%02X>" : "0x%02x",
                  static_cast<unsigned>(byte));
    const std::string name =
        model_.rules.of_characters ? code : files::to_utf8(letter_of(static_cast<unsigned char>(byte)));
    const std::optional<int32_t> token = find(name);
    if (!token) vocab.refuse("must have all 256 bytes, got none for ", code, ", ", in_quotes(name), ".");
    origins_[static_cast<size_t>(*token)] = Origin::byte;
    model_.of_byte[static_cast<size_t>(byte)] = *token;
  }
}

std::optional<int32_t> Vocabulary::find(std::string_view text) const {
  const auto found = tokens_.find(text);
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
    if (text.empty() || (strict_ && !can_be_joined(*token)))
      return concat("must join bytes or results of earlier merges, got ", in_quotes(text), ".");
  }
  if (!j) return concat("must make a token of the vocabulary, got ", in_quotes(joined), ", which is none.");
  if (!merged_.insert(pair_key(*l, *r)).second)
    return concat("must not be listed twice, got ", in_quotes(left), " and ", in_quotes(right), " again.");
  Origin& origin = origins_[static_cast<size_t>(*j)];
  if (origin != Origin::byte) origin = Origin::joined;
  model_.merges.push_back({*l, *r, *j});
  return "";
}

std::string Vocabulary::add(AddedToken token) {
  if (token.text.empty()) return "must have a text, got none.";
  const auto at = static_cast<size_t>(token.token);
  if (token.token < 0 || at >= names_.size())
    return concat("must be a number in [0, ", names_.size(), "), got ", token.token, ".");
  const std::optional<int32_t> known = find(token.text);
  if ((known && *known != token.token) || (!known && origins_[at] != Origin::missing))
    return concat("must be the same token in the vocabulary, got ", token.token, " for ",
                  in_quotes(token.text), ".");
  Origin& origin = origins_[at];
  const bool in_words = origin == Origin::byte || origin == Origin::joined;
  if ((in_words && token.special) || !added_.insert(token.token).second)
    return concat("must be neither a byte nor joined by a merge nor listed twice, got ",
                  in_quotes(token.text), ".");
  if (!known) {
    names_[at] = token.text;
    tokens_.emplace(names_[at], token.token);
  }
  if (!in_words) origin = Origin::added;
  model_.added.push_back(std::move(token));
  return "";
}

BytePairs Vocabulary::take() {
  while (!strict_ && origins_.back() == Origin::missing) origins_.pop_back();
  const Rules& rules = model_.rules;
  names_.resize(origins_.size());
  for (size_t token = 0; token < names_.size(); ++token) {
    const std::string& name = names_[token];
    if (strict_ && origins_[token] == Origin::missing)
      vocab_.refuse("must have the tokens 0 to ", names_.size() - 1, ", got none with the number ", token,
                    ".");
    if (strict_ && origins_[token] == Origin::unknown) {
      if (name.empty()) vocab_.refuse("must have bytes, results of merges and special tokens only, got ''.");
      model_.added.push_back({name, static_cast<int32_t>(token)});
      origins_[token] = Origin::added;
    }
    if (origins_[token] == Origin::added)
      model_.texts.push_back(name);
    else if (rules.of_characters)
      model_.texts.push_back(rules.space.empty() ? name : replaced(name, rules.space, " "));
    else
      model_.texts.push_back(bytes_of(name).value_or(name));
  }
  if (rules.of_characters) {
    for (int32_t byte = 0; byte < kBytes; ++byte)
      model_.texts[static_cast<size_t>(model_.of_byte[static_cast<size_t>(byte)])] =
          std::string(1, static_cast<char>(byte));
    model_.names = std::move(names_);
  }
  return BytePairs(std::move(model_));
}

std::string numbered(const std::vector<std::string>& texts, std::string_view indent) {
  std::string json = "{";
  for (size_t i = 0; i < texts.size(); ++i)
    json += concat(i == 0 ? "\n" : ",\n", indent, "  ", files::json_text(texts[i]), ": ", i);
  return concat(json, "\n", indent, "}");
}

}  // namespace gradus::data::pairs
