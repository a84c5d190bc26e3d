#include "gradus/tools/export/encodings.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "gradus/files/error.hpp"
#include "gradus/files/json.hpp"
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

using gguf::Keys;
using gguf::List;

/// llama.cpp's kinds of tokens.
enum TokenType : int32_t { kNormal = 1, kControl = 3 };

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
  const std::vector<int32_t> types(tokens.size(), kNormal);
  return {{"tokenizer.ggml.model", std::string("rwkv")},
          {"tokenizer.ggml.tokens", List::of_texts(std::move(tokens))},
          {"tokenizer.ggml.token_type", List::of_numbers(types)},
          {"tokenizer.ggml.add_bos_token", false}};
}

uint32_t end_of_text(const data::Tokenizer& tokenizer) {
  const std::vector<int32_t> specials = tokenizer.special_tokens();
  const auto is_end = [&](int32_t token) { return tokenizer.decode({&token, 1}) == "<|endoftext|>"; };
  const auto found = std::find_if(specials.begin(), specials.end(), is_end);
  if (found != specials.end()) return static_cast<uint32_t>(*found);
  return static_cast<uint32_t>(specials.empty() ? tokenizer.encode("\xFF").front() : specials.back());
}

Keys of_byte_pairs(const data::Tokenizer& tokenizer) {
  std::vector<int32_t> types(static_cast<size_t>(tokenizer.vocab_size()), kNormal);
  for (const int32_t special : tokenizer.special_tokens()) types[static_cast<size_t>(special)] = kControl;
  const uint32_t end = end_of_text(tokenizer);
  return {{"tokenizer.ggml.model", std::string("gpt2")},
          {"tokenizer.ggml.pre", std::string("gpt-2")},
          {"tokenizer.ggml.tokens", List::of_texts(token_letters(tokenizer))},
          {"tokenizer.ggml.token_type", List::of_numbers(types)},
          {"tokenizer.ggml.merges", List::of_texts(merge_lines(tokenizer))},
          {"tokenizer.ggml.bos_token_id", end},
          {"tokenizer.ggml.eos_token_id", end},
          {"tokenizer.ggml.add_bos_token", false}};
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

std::vector<std::string> token_letters(const data::Tokenizer& tokenizer) {
  const std::string text = tokenizer.to_json();
  const files::Json json(text, "export", "vocab.json");
  std::vector<std::string> tokens(static_cast<size_t>(tokenizer.vocab_size()));
  for (const auto& [token, number] : json.root().members())
    tokens[static_cast<size_t>(number.integer())] = token;
  return tokens;
}

std::vector<std::string> merge_lines(const data::Tokenizer& tokenizer) {
  std::istringstream text(tokenizer.to_merges());
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return {lines.begin() + 1, lines.end()};
}

Keys vocabulary_keys(const data::Tokenizer& tokenizer) {
  return tokenizer.kind() == "bpe" ? of_byte_pairs(tokenizer) : of_longest_tokens(tokenizer);
}

}  // namespace gradus::exports
