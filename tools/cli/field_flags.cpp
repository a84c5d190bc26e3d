#include "field_flags.hpp"

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

}  // namespace

const FieldFlags& model_flags() {
  static const FieldFlags flags{{"vocab_size", "--vocab"},
                                {"block_size", "--block"},
                                {"n_layer", "--layers"},
                                {"n_head", "--heads"},
                                {"n_embd", "--embd"},
                                {"dropout", "--dropout"},
                                {"val_fraction", "--val-fraction"},
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
