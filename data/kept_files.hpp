// KeptFiles: the contents of its files that a tokenizer stores. Private to Tokenizer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gradus::data {

class Tokenizer;

inline constexpr const char* kTokenizerJson = "tokenizer.json";
inline constexpr const char* kTokenizerConfig = "tokenizer_config.json";
inline constexpr const char* kGenerationConfig = "generation_config.json";
inline constexpr const char* kSpecialTokens = "special_tokens_map.json";
inline constexpr const char* kAddedTokens = "added_tokens.json";
inline constexpr const char* kModelConfig = "config.json";
inline constexpr const char* kChatTemplate = "chat_template.jinja";
inline constexpr const char* kEndOfText = "<|endoftext|>";

struct KeptFiles {
  std::map<std::string, std::string> texts;  ///< those that are written back unchanged; else none
  std::vector<int32_t> prefix, suffix;
  std::optional<int32_t> bos;
  std::vector<int32_t> eos;
  std::vector<std::string> stop_strings;
  std::string chat_template;
};

/// The texts by their names of tokenizer_config.json, and of generation_config.json if the former cannot say
/// all that ends a text.
std::map<std::string, std::string> config_files(const Tokenizer& tokenizer, const KeptFiles& files);

}  // namespace gradus::data
