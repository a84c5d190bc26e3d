// A vocabulary of byte pairs for tests: GPT-2's bytes, with a few merges.
#pragma once

#include <string>
#include <vector>

#include "gradus/data/pairs/byte_pairs.hpp"
#include "gradus/data/tokenizer.hpp"
#include "gradus/files/json.hpp"

namespace gradus::data {

/// vocab.json: token i of the bytes in GPT-2's order, then what each line of `merges` joins, then `more`.
inline std::string small_vocab(const std::string& merges, const std::vector<std::string>& more = {}) {
  std::vector<std::string> texts;
  for (const unsigned char byte : pairs::bytes_by_letter())
    texts.push_back(pairs::letters_of(std::string(1, static_cast<char>(byte))));
  for (size_t at = 0; at < merges.size();) {
    const size_t end = merges.find('\n', at);
    std::string line = merges.substr(at, end - at);
    at = end + 1;
    if (line.starts_with("#version")) continue;
    texts.push_back(line.erase(line.find(' '), 1));
  }
  texts.insert(texts.end(), more.begin(), more.end());
  std::string vocab;
  for (size_t i = 0; i < texts.size(); ++i)
    vocab += (i ? ", " : "{") + files::json_text(texts[i]) + ": " + std::to_string(i);
  return vocab + "}";
}

inline Tokenizer small_tokenizer(const std::string& merges, const std::vector<std::string>& more = {}) {
  return Tokenizer::from_gpt2(small_vocab(merges, more), merges);
}

}  // namespace gradus::data
