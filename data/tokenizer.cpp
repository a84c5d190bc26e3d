#include "gradus/data/tokenizer.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <set>
#include <unordered_set>
#include <utility>

#include "gradus/data/kept_files.hpp"
#include "gradus/data/pairs/added_tokens.hpp"
#include "gradus/data/pairs/byte_pairs.hpp"
#include "gradus/data/pairs/learn.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/files/utf8.hpp"

namespace gradus::data {
namespace {

constexpr char32_t kCodePoints = 0x110000;

/// Calls f(code point) for each character. Throws Error naming `op` if the text is not UTF-8.
template <class F>
void for_each_character(std::string_view op, std::string_view text, F&& f) {
  for (size_t offset = 0; offset < text.size();) {
    const files::CodePoint c = files::first_code_point(text.substr(offset));
    if (c.size == 0) {
      char byte[8];
      std::snprintf(byte, sizeof byte, "0x%02x", static_cast<unsigned char>(text[offset]));
      fail(op, "the text must be UTF-8, got byte ", byte, " at byte offset ", offset,
           ", where no character starts. Hint: save the text as UTF-8, or use ", Option{"tokenizer"},
           " byte.");
    }
    f(c.value);
    offset += c.size;
  }
}

}  // namespace

Tokenizer Tokenizer::characters(std::string_view text) {
  if (text.empty()) fail("tokenizer", "the text must have at least one character, got none.");
  std::vector<bool> seen(kCodePoints);
  for_each_character("tokenizer", text, [&](char32_t c) { seen[c] = true; });
  std::u32string characters;
  for (char32_t c = 0; c < kCodePoints; ++c)
    if (seen[c]) characters += c;
  return Tokenizer(std::move(characters));
}

Tokenizer Tokenizer::bytes() { return Tokenizer(std::u32string()); }

Tokenizer::Tokenizer(pairs::BytePairs pairs)
    : pairs_(std::make_shared<const pairs::BytePairs>(std::move(pairs))) {}

Tokenizer Tokenizer::make(std::string_view kind, std::string_view text, int64_t vocab_size) {
  if (kind == "char") return characters(text);
  if (kind == "byte") return bytes();
  if (kind != "bpe")
    fail("tokenizer", "the kind must be char, byte or bpe, got ", files::in_quotes(kind), ".");
  PairTrainer trainer;
  trainer.add(text);
  return trainer.train(vocab_size);
}

std::string_view Tokenizer::kind() const { return pairs_ ? "bpe" : characters_.empty() ? "byte" : "char"; }

int64_t Tokenizer::vocab_size() const {
  return pairs_ ? pairs_->size() : plain_tokens() + static_cast<int64_t>(specials_.size());
}

std::vector<int32_t> Tokenizer::special_tokens() const {
  if (pairs_) return pairs_->specials();
  std::vector<int32_t> tokens(specials_.size());
  std::iota(tokens.begin(), tokens.end(), static_cast<int32_t>(plain_tokens()));
  return tokens;
}

std::optional<int32_t> Tokenizer::token_of(std::string_view text) const {
  for (const int32_t token : special_tokens())
    if (text_of(token) == text) return token;
  for (int32_t token = 0; token < vocab_size(); ++token)
    if (text_of(token) == text) return token;
  return {};
}

Tokenizer Tokenizer::with_special(const std::vector<std::string>& texts) const {
  std::unordered_set<std::string> known, others;
  std::vector<std::string> added;
  for (const int32_t token : special_tokens()) known.insert(text_of(token));
  for (const std::string& text : texts)
    if (known.insert(text).second) added.push_back(text);
  if (added.empty()) return *this;
  for (int32_t token = 0; token < vocab_size(); ++token) others.insert(text_of(token));
  for (const std::string& text : added)
    if (text.empty() || !files::is_utf8(text) || others.contains(text))
      fail("tokenizer", "a special token must have a text, in UTF-8, that no other token has, got ",
           files::in_quotes(text), ".");
  if (files_->texts.contains(kTokenizerJson))
    fail("tokenizer", "a tokenizer.json of another program must have the special token ",
         files::in_quotes(added[0]), ", got none.");
  Tokenizer more = *this;
  if (pairs_)
    more.pairs_ = Tokenizer(pairs_->with_specials(added)).pairs_;
  else
    more.specials_.insert(more.specials_.end(), added.begin(), added.end());
  return more;
}

Tokenizer Tokenizer::cut_to(int64_t size) const {
  const std::vector<int32_t> specials = special_tokens();
  const auto more = std::ranges::count_if(specials, [&](int32_t one) { return one >= size; });
  const std::vector<int32_t> ends = eos();
  const bool is_used = std::ranges::any_of(ends, [&](int32_t one) { return one >= size; });
  if (!pairs_ || more == 0 || more != vocab_size() - size || is_used) return *this;
  Tokenizer result(pairs_->cut_to(static_cast<size_t>(size)));
  result.files_ = files_;
  return result;
}

bool Tokenizer::operator==(const Tokenizer& other) const {
  if (prefix() != other.prefix() || suffix() != other.suffix()) return false;
  if (pairs_ && other.pairs_) return *pairs_ == *other.pairs_;
  return !pairs_ && !other.pairs_ && characters_ == other.characters_ && specials_ == other.specials_;
}

bool Tokenizer::has(char32_t character) const {
  return characters_.empty() || std::ranges::binary_search(characters_, character);
}

std::vector<int32_t> Tokenizer::encode(std::string_view text) const {
  std::vector<int32_t> tokens;
  if (pairs_) {
    tokens.reserve(text.size() / 4);
    pairs_->encode(text, /*specials=*/false, tokens);
    return tokens;
  }
  tokens.reserve(text.size());
  if (characters_.empty()) {
    for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
    return tokens;
  }
  constexpr size_t kNamed = 3;
  std::set<char32_t> unknown;
  std::string named;  // the first few of them, with their places
  int64_t place = 0;
  for_each_character("encode", text, [&](char32_t c) {
    ++place;
    const auto found = std::ranges::lower_bound(characters_, c);
    const bool is_known = found != characters_.end() && *found == c;
    if (!is_known && unknown.insert(c).second && unknown.size() <= kNamed)
      named += concat(named.empty() ? "" : ", ", files::quoted(c), ", at character ", place);
    tokens.push_back(static_cast<int32_t>(found - characters_.begin()));
  });
  if (!unknown.empty())
    fail("encode", "the vocabulary has no ", named,
         unknown.size() > kNamed ? concat(", and ", unknown.size() - kNamed, " more") : "",
         ". Hint: leave these characters out of the text, or train a new model with ", Option{"tokenizer"},
         " byte or bpe, which read any text.");
  return tokens;
}

std::vector<int32_t> Tokenizer::encode_with_specials(std::string_view text) const {
  std::vector<int32_t> tokens;
  if (pairs_) {
    pairs_->encode(text, /*specials=*/true, tokens);
    return tokens;
  }
  std::vector<pairs::AddedToken> specials;
  for (const int32_t token : special_tokens()) specials.push_back({text_of(token), token});
  const auto add = [&](std::string_view piece) {
    const std::vector<int32_t> more = encode(piece);
    tokens.insert(tokens.end(), more.begin(), more.end());
  };
  pairs::AddedTokens(std::move(specials)).split(text, true, add, [&](int32_t token) {
    tokens.push_back(token);
  });
  return tokens;
}

std::vector<int32_t> Tokenizer::encode_from_start(std::string_view text) const {
  std::vector<int32_t> tokens = prefix();
  const std::vector<int32_t> more = encode(text);
  tokens.insert(tokens.end(), more.begin(), more.end());
  return tokens;
}

std::string Tokenizer::text_of(int32_t token) const {
  if (pairs_) return pairs_->text(token);
  const auto at = static_cast<size_t>(token), plain = static_cast<size_t>(plain_tokens());
  if (at >= plain) return specials_[at - plain];
  return characters_.empty() ? std::string(1, static_cast<char>(token)) : files::to_utf8(characters_[at]);
}

void Tokenizer::check_tokens(std::span<const int32_t> tokens) const {
  const int64_t size = vocab_size();
  for (const int32_t token : tokens)
    if (token < 0 || token >= size) fail("decode", "tokens must be in [0, ", size, "), got ", token, ".");
}

std::string Tokenizer::decode(std::span<const int32_t> tokens) const {
  check_tokens(tokens);
  std::string text;
  text.reserve(tokens.size());
  for (const int32_t token : tokens)
    if (pairs_)
      text += pairs_->text(token);
    else
      text += text_of(token);
  return text;
}

int64_t Tokenizer::byte_count(std::span<const int32_t> tokens) const {
  check_tokens(tokens);
  const std::vector<int32_t> specials = special_tokens();
  int64_t count = 0;
  for (const int32_t token : tokens)
    if (!std::ranges::binary_search(specials, token))
      count += std::ssize(pairs_ ? pairs_->text(token) : text_of(token));
  return count;
}

PairTrainer::PairTrainer() : words_(std::make_unique<pairs::WordCounts>()) {}
PairTrainer::~PairTrainer() = default;

void PairTrainer::add(std::string_view text) { words_->add(text); }

Tokenizer PairTrainer::train(int64_t vocab_size) const {
  if (vocab_size < Tokenizer::kLeastPairs || vocab_size > Tokenizer::kMostPairs)
    fail("tokenizer", Option{"vocab"}, " must be a number of tokens in [", Tokenizer::kLeastPairs, ", ",
         Tokenizer::kMostPairs, "], got ", vocab_size, ".");
  return Tokenizer::of_pairs(pairs::learn(*words_, vocab_size, kEndOfText));
}

std::string DecodeStream::step(int32_t token) {
  const int32_t one[] = {token};
  std::string text = tokenizer_->decode(one);
  text.insert(0, waiting_);
  waiting_ = text.substr(text.size() - files::unfinished(text));
  text.resize(text.size() - waiting_.size());
  return text;
}

std::string DecodeStream::finish() { return std::exchange(waiting_, ""); }

}  // namespace gradus::data
