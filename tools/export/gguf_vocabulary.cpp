#include "gradus/tools/export/gguf_vocabulary.hpp"

#include <algorithm>
#include <cstdio>

#include "gradus/files/json.hpp"
#include "gradus/files/utf8.hpp"

namespace gradus::exports {
namespace {

using gguf::Keys;
using gguf::List;

/// llama.cpp's kinds of tokens.
enum TokenType : int32_t { kNormal = 1, kControl = 3 };

/// A token as RWKV's vocabulary writes it: what does not print, and what is no UTF-8, as \xHH.
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

/// The tokens in GPT-2's letters, by their numbers.
std::vector<std::string> letters(const data::Tokenizer& tokenizer) {
  const std::string text = tokenizer.to_json();
  const files::Json json(text, "export", "vocab.json");
  std::vector<std::string> tokens(static_cast<size_t>(tokenizer.vocab_size()));
  for (const auto& [token, number] : json.root().members())
    tokens[static_cast<size_t>(number.integer())] = token;
  return tokens;
}

/// The lines of merges.txt behind the first, which tells its version.
std::vector<std::string> merges(const data::Tokenizer& tokenizer) {
  const std::string text = tokenizer.to_merges();
  std::vector<std::string> lines;
  for (size_t at = text.find('\n') + 1; at < text.size();) {
    const size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
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
          {"tokenizer.ggml.tokens", List::of_texts(letters(tokenizer))},
          {"tokenizer.ggml.token_type", List::of_numbers(types)},
          {"tokenizer.ggml.merges", List::of_texts(merges(tokenizer))},
          {"tokenizer.ggml.bos_token_id", end},
          {"tokenizer.ggml.eos_token_id", end},
          {"tokenizer.ggml.add_bos_token", false}};
}

}  // namespace

Keys vocabulary_keys(const data::Tokenizer& tokenizer) {
  return tokenizer.kind() == "bpe" ? of_byte_pairs(tokenizer) : of_longest_tokens(tokenizer);
}

}  // namespace gradus::exports
