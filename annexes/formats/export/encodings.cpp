#include "gradus/annexes/formats/export/encodings.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <map>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "gradus/data/pairs/byte_pairs.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/json.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/files/utf8.hpp"

namespace gradus::exports {
namespace {

// -- numbers

constexpr size_t kBlock = 32;
constexpr uint16_t kInfinity = 0x7C00;

void add(std::string& bytes, uint16_t bits) {
  bytes += static_cast<char>(bits & 0xFF);
  bytes += static_cast<char>(bits >> 8);
}

uint16_t finite_float16(float x) {
  const uint16_t half = to_float16(x);
  if ((half & kInfinity) == kInfinity)
    fail("export", "weights must be at most 65504 for f16, and 127 times that for q8_0, got ", x,
         ". Hint: --type f32.");
  return half;
}

/// The largest magnitude; infinite or NaN if one is.
float largest_of(std::span<const float> x) {
  float largest = 0.0F;
  for (const float value : x) {
    if (!std::isfinite(value)) return value;
    largest = std::max(largest, std::abs(value));
  }
  return largest;
}

// -- vocabularies

namespace pairs = data::pairs;
using gguf::Keys;
using gguf::List;

/// llama.cpp's kinds of tokens.
enum TokenType : int32_t { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };

/// A token in the form of RWKV's vocabulary: bytes that do not print or are not UTF-8 become \xHH.
std::string escaped(const std::string& token) {
  const bool is_text = files::is_utf8(token);
  std::string text;
  for (const char c : token) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\')
      text += "\\\\";
    else if (byte >= 0x20 && byte != 0x7F && (is_text || byte < 0x80))
      text += c;
    else {
      char hex[8];
      std::snprintf(hex, sizeof hex, "\\x%02x", unsigned{byte});
      text += hex;
    }
  }
  return text;
}

Keys of_longest_tokens(const data::Tokenizer& tokenizer) {
  std::vector<std::string> tokens;
  for (int32_t token = 0; token < tokenizer.vocab_size(); ++token)
    tokens.push_back(escaped(tokenizer.decode({&token, 1})));
  std::vector<int32_t> types(tokens.size(), kNormal);
  for (const int32_t special : tokenizer.special_tokens()) types[static_cast<size_t>(special)] = kControl;
  return {{"tokenizer.ggml.model", std::string("rwkv")},
          {"tokenizer.ggml.tokens", List::of_texts(std::move(tokens))},
          {"tokenizer.ggml.token_type", List::of_numbers(types)}};
}

/// llama.cpp's names of ways to cut a text into words, by the successive expressions of tokenizer.json.
const std::map<std::string_view, std::string_view> kWords = {
    {"words", "gpt-2"},
    {R"(\p{N} words)", "smollm"},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     "llama-bpe"},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     "qwen2"},
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     "gpt-4o"},
    {"\\p{N}{1,3} [一-龥\u3040-ゟ゠-ヿ]+ "
     R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^)"
     "\r\n"
     R"(\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[)"
     "\r\n"
     R"(]*|\s*[)"
     "\r\n"
     R"(]+|\s+(?!\S)|\s+)",
     "deepseek-v3"},
};

std::string name_of_words(const pairs::Rules& rules) {
  std::string expressions;
  for (const pairs::Split& split : rules.splits) {
    if (split.behavior == pairs::Split::Behavior::merged_with_previous)
      fail("export", "the pre_tokenizer must have no MergedWithPrevious, which llama.cpp has not, got ",
           files::in_quotes(split.expression), ".");
    expressions += concat(expressions.empty() ? "" : " ", split.pattern ? split.expression : "words");
  }
  const auto name = kWords.find(expressions);
  if (name == kWords.end())
    fail("export", "the pre_tokenizer must be one that llama.cpp has a name for, got ",
         files::in_quotes(expressions), ".");
  return std::string(name->second);
}

/// Throws Error if other tokens come from llama.cpp, which joins no words that are tokens for one name alone.
void check_whole_words(const pairs::BytePairs& ours, bool are_whole) {
  pairs::Model model = ours.model();
  if (std::exchange(model.rules.ignore_merges, are_whole) == are_whole) return;
  const pairs::BytePairs theirs(std::move(model));
  for (int32_t token = 0; token < ours.size(); ++token) {
    std::vector<int32_t> here, there;
    ours.encode(ours.text(token), /*specials=*/false, here);
    theirs.encode(ours.text(token), /*specials=*/false, there);
    if (here != there && files::is_utf8(ours.text(token)))
      fail("export", "ignore_merges of tokenizer.json must be ", are_whole ? "true" : "false",
           ", as in llama.cpp for such words, got other tokens for ", files::in_quotes(ours.text(token)),
           ".");
  }
}

/// Throws Error if llama.cpp joins other characters: it joins two neighbours whenever that makes a token, in
/// the order of the scores of these tokens, so each way to make a token must be a merge, and they must follow
/// one another.
void check_joins(const std::vector<pairs::Merge>& merges, const std::vector<std::string>& tokens,
                 const std::vector<int32_t>& types) {
  std::unordered_map<std::string_view, int32_t> known;
  for (size_t token = 0; token < tokens.size(); ++token)
    known.emplace(tokens[token], static_cast<int32_t>(token));
  std::vector<int> ways(tokens.size(), 0);
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const int32_t joined = merges[rank].joined;
    if (ways[static_cast<size_t>(joined)]++ > 0 && merges[rank - 1].joined != joined)
      fail("export",
           "the merges must have all ways to make a token side by side, as llama.cpp has, got others between "
           "those of ",
           files::in_quotes(tokens[static_cast<size_t>(joined)]), ".");
  }
  for (size_t token = 0; token < tokens.size(); ++token) {
    const std::string_view text = tokens[token];
    if (types[token] != kNormal) continue;
    for (size_t at = 1; at < text.size(); ++at)
      if (known.contains(text.substr(0, at)) && known.contains(text.substr(at))) --ways[token];
    if (ways[token] < 0)
      fail("export", "the merges must have all ways to make a token of two, as llama.cpp has, got fewer for ",
           files::in_quotes(text), ".");
  }
}

/// Whether llama.cpp changes a text in the same way: not at all, but for NFC, or by writing spaces as ▁.
bool changes_as_llama(const pairs::Rules& rules) {
  using Kind = pairs::Normalization::Kind;
  bool writes_spaces = false;
  for (const auto& [kind, from, to] : rules.normalizer) {
    const bool is_space = to == "▁" && (kind == Kind::prepend || (kind == Kind::replace && from == " "));
    if (rules.of_characters ? !is_space : kind != Kind::nfc) return false;
    writes_spaces = writes_spaces || kind == Kind::replace;
  }
  const auto cuts_none = [](const pairs::Split& split) { return split.expression == "\\Q \\E"; };
  return !rules.of_characters || (writes_spaces && std::ranges::all_of(rules.splits, cuts_none));
}

/// The keys of both kinds of pairs.
Keys of_pairs(const data::Tokenizer& tokenizer) {
  const pairs::Model& model = tokenizer.pairs().model();
  std::vector<std::string> tokens = tokenizer.vocabulary();
  std::vector<int32_t> types(tokens.size(), kNormal);
  for (size_t token = 0; token < tokens.size(); ++token)
    if (tokens[token].empty()) {
      tokens[token] = concat("[PAD", token, "]");
      types[token] = kUnused;
    }
  for (const pairs::AddedToken& added : model.added) {
    const auto at = static_cast<size_t>(added.token);
    types[at] = added.special ? kControl : kUserDefined;
    tokens[at] = added.text;
  }
  if (!changes_as_llama(model.rules))
    fail("export", "the normalizer must be NFC before words of bytes, or ▁ for spaces alone, got another.");
  Keys keys{{"tokenizer.ggml.model", std::string(model.rules.of_characters ? "llama" : "gpt2")}};
  const std::string words = model.rules.of_characters ? "default" : name_of_words(model.rules);
  check_whole_words(tokenizer.pairs(), words == "llama-bpe");
  keys.emplace_back("tokenizer.ggml.pre", words);
  if (!model.rules.of_characters) {
    keys.emplace_back("tokenizer.ggml.tokens", List::of_texts(std::move(tokens)));
    keys.emplace_back("tokenizer.ggml.token_type", List::of_numbers(types));
    keys.emplace_back("tokenizer.ggml.merges", List::of_texts(merge_lines(tokenizer)));
    return keys;
  }
  for (const int32_t byte : model.of_byte) types[static_cast<size_t>(byte)] = kByte;
  check_joins(model.merges, tokens, types);
  // llama.cpp joins the neighbours whose token has the highest score, so the score is the order of merges.
  std::vector<int32_t> ranks(tokens.size(), 0);
  for (size_t rank = model.merges.size(); rank-- > 0;)
    ranks[static_cast<size_t>(model.merges[rank].joined)] = static_cast<int32_t>(rank);
  List scores{.of = gguf::ValueType::f32, .count = ranks.size(), .bytes = {}, .texts = {}};
  for (const int32_t rank : ranks) {
    const float score = -static_cast<float>(rank);
    scores.bytes += as_f32({&score, 1});
  }
  const auto adds_space = [](const auto& step) { return step.kind == pairs::Normalization::Kind::prepend; };
  if (const auto unknown = tokenizer.token_of("<unk>")) {
    types[static_cast<size_t>(*unknown)] = kUnknown;
    keys.emplace_back("tokenizer.ggml.unknown_token_id", static_cast<uint32_t>(*unknown));
  }
  keys.emplace_back("tokenizer.ggml.tokens", List::of_texts(std::move(tokens)));
  keys.emplace_back("tokenizer.ggml.scores", std::move(scores));
  keys.emplace_back("tokenizer.ggml.token_type", List::of_numbers(types));
  keys.emplace_back("tokenizer.ggml.add_space_prefix",
                    std::ranges::any_of(model.rules.normalizer, adds_space));
  return keys;
}

/// A token that ends a text, which llama.cpp needs for pairs.
int32_t end_of_text(const data::Tokenizer& tokenizer) {
  if (const std::vector<int32_t> eos = tokenizer.eos(); !eos.empty()) return eos.front();
  if (const std::vector<int32_t> specials = tokenizer.special_tokens(); !specials.empty())
    return specials.back();
  const std::vector<int32_t> bytes = tokenizer.encode("\xFF");
  if (bytes.empty()) fail("export", "the tokenizer must have a token that may end a text, got none.");
  return bytes.front();
}

}  // namespace

uint16_t to_float16(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000U);
  const float magnitude = std::abs(x);
  if (std::isnan(x)) return sign | 0x7E00;
  if (magnitude >= 65520.0F) return sign | kInfinity;
  // Below 2^-14 float16 counts in units of 2^-24, and so does a float32 of 2^-1 or more: adding rounds.
  if (magnitude < 0x1p-14F)
    return static_cast<uint16_t>(sign |
                                 (std::bit_cast<uint32_t>(magnitude + 0.5F) - std::bit_cast<uint32_t>(0.5F)));
  const uint32_t absolute = bits & 0x7FFFFFFFU;
  const uint32_t rounded = absolute + 0xFFFU + (absolute >> 13 & 1U);  // half an ulp of float16, to even
  return static_cast<uint16_t>(sign | ((rounded >> 13) - ((127U - 15U) << 10)));
}

std::string as_f32(std::span<const float> x) {
  static_assert(std::endian::native == std::endian::little, "values are written as they lie in memory");
  return {reinterpret_cast<const char*>(x.data()), x.size_bytes()};
}

std::string as_f16(std::span<const float> x) {
  std::string bytes;
  bytes.reserve(2 * x.size());
  for (const float value : x) add(bytes, finite_float16(value));
  return bytes;
}

std::string as_q8_0(std::span<const float> x) {
  std::string bytes;
  bytes.reserve(x.size() / kBlock * (kBlock + 2));
  for (size_t begin = 0; begin < x.size(); begin += kBlock) {
    const std::span<const float> block = x.subspan(begin, kBlock);
    const float d = largest_of(block) / 127.0F, reciprocal = 1.0F / d;
    const float inverse = std::isfinite(reciprocal) ? reciprocal : 0.0F;  // of numbers too small for a scale
    add(bytes, finite_float16(d));
    for (const float value : block) bytes += static_cast<char>(static_cast<int>(std::round(value * inverse)));
  }
  return bytes;
}

std::vector<std::string> merge_lines(const data::Tokenizer& tokenizer) {
  std::istringstream text(tokenizer.to_merges());
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return {lines.begin() + 1, lines.end()};
}

Keys vocabulary_keys(const data::Tokenizer& tokenizer) {
  const bool is_pairs = tokenizer.kind() == "bpe";
  const std::vector<int32_t> prefix = tokenizer.prefix();
  if (prefix.size() > 1)
    fail("export", "gguf needs a tokenizer that puts at most one token before a text, got ", prefix.size(),
         ".");
  Keys keys = is_pairs ? of_pairs(tokenizer) : of_longest_tokens(tokenizer);
  if (is_pairs || !tokenizer.eos().empty()) {
    const int32_t end = end_of_text(tokenizer), bos = tokenizer.bos().value_or(end);
    keys.emplace_back("tokenizer.ggml.bos_token_id", static_cast<uint32_t>(prefix.empty() ? bos : prefix[0]));
    keys.emplace_back("tokenizer.ggml.eos_token_id", static_cast<uint32_t>(end));
    if (const std::vector<int32_t> ends = tokenizer.eos(); ends.size() > 1)
      keys.emplace_back("tokenizer.ggml.eot_token_id", static_cast<uint32_t>(ends[1]));
  }
  keys.emplace_back("tokenizer.ggml.add_bos_token", !prefix.empty());
  if (std::string chat = tokenizer.chat_template(); !chat.empty())
    keys.emplace_back("tokenizer.chat_template", std::move(chat));
  return keys;
}

}  // namespace gradus::exports
