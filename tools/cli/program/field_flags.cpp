#include "gradus/tools/cli/program/field_flags.hpp"

#include <algorithm>

#include "gradus/train/train_config.hpp"

namespace gradus::cli {
namespace {

bool is_in_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

void replace_words(std::string& text, std::string_view word, std::string_view replacement) {
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos;) {
    const size_t end = at + word.size();
    const bool whole =
        (at == 0 || !is_in_word(text[at - 1])) && (end == text.size() || !is_in_word(text[end]));
    if (whole) text.replace(at, word.size(), replacement);
    at += whole ? replacement.size() : 1;
  }
}

/// The flag of a field of TrainConfig, RunFolder or a DecoderConfig in them; empty if there is none.
std::string flag_of(std::string_view field) {
  for (const auto& [name, flag] : model_flags())
    if (name == field) return std::string(flag);
  for (const std::string_view flag : {"out", "resume", "overwrite"})
    if (flag == field) return concat("--", flag);
  std::string name(field), found;
  std::replace(name.begin(), name.end(), '_', '-');
  train::for_each_field([&](const char* flag, auto) {
    if (name == flag) found = concat("--", flag);
  });
  return found;
}

}  // namespace

std::string with_flags(std::string message) {
  for (size_t begin = 0; (begin = message.find('`', begin)) != std::string::npos;) {
    const size_t end = message.find('`', begin + 1);
    if (end == std::string::npos) break;
    const std::string flag = flag_of(std::string_view(message).substr(begin + 1, end - begin - 1));
    if (!flag.empty()) message.replace(begin, end + 1 - begin, flag);
    begin = flag.empty() ? end : begin + flag.size();
  }
  return message;
}

const FieldFlags& model_flags() {
  static const FieldFlags flags{{"vocab_size", "--vocab"}, {"block_size", "--block"},
                                {"n_layer", "--layers"},   {"n_head", "--heads"},
                                {"n_embd", "--embd"},      {"arch", "--arch"},
                                {"bias", "--bias"},        {"n_kv_head", "--kv-heads"},
                                {"n_inner", "--hidden"},   {"rope_theta", "--rope-theta"},
                                {"qk_norm", "--qk-norm"},  {"tie_word_embeddings", "--tied"},
                                {"dropout", "--dropout"},  {"val_fraction", "--val-fraction"},
                                {"block", "--block"}};
  return flags;
}

std::string with_flags(std::string message, std::string_view verb, const FieldFlags& flags) {
  if (const size_t end = message.find("] "); message.starts_with('[') && end != std::string::npos)
    message.replace(1, end - 1, verb);
  for (const auto& [field, flag] : flags) replace_words(message, field, flag);
  return message;
}

}  // namespace gradus::cli
