#include "gradus/data/pairs/pattern.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <stdexcept>

#include "gradus/files/error.hpp"
#include "gradus/files/utf8.hpp"

namespace gradus::data::pairs {
namespace {

// A match within these limits takes less than a second.
constexpr uint32_t kMostSteps = 5'000'000, kMostKilobytes = 64 * 1024;
constexpr size_t kStack = size_t{32} << 10, kMostStack = size_t{8} << 20;  // of compiled patterns, in bytes

std::string message_of(int error) {
  PCRE2_UCHAR message[128];
  pcre2_get_error_message(error, message, sizeof message);
  return reinterpret_cast<const char*>(message);
}

/// The memory of a thread for matches.
struct Memory {
  pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_jit_stack* stack = pcre2_jit_stack_create(kStack, kMostStack, nullptr);
  Memory() {
    pcre2_set_match_limit(context, kMostSteps);
    pcre2_set_heap_limit(context, kMostKilobytes);
    pcre2_jit_stack_assign(context, nullptr, stack);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    pcre2_jit_stack_free(stack);
    pcre2_match_context_free(context);
    pcre2_match_data_free(data);
  }
};

}  // namespace

struct Pattern::Code {
  pcre2_code* code = nullptr;
  Code() = default;
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  ~Code() { pcre2_code_free(code); }
};

Pattern::Pattern(const std::string& expression) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  const auto code = std::make_shared<Code>();
  code->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression.data()), expression.size(),
                             PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error,
                             &offset, nullptr);
  if (code->code == nullptr) throw std::invalid_argument(concat(message_of(error), " at byte ", offset));
  pcre2_jit_compile(code->code, PCRE2_JIT_COMPLETE);  // Without memory for programs PCRE2 interprets.
  code_ = code;
}

std::optional<std::pair<size_t, size_t>> Pattern::find(std::string_view text, size_t from) const {
  static thread_local const Memory memory;  // Making it takes longer than a short text.
  const int found = pcre2_match(code_->code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                                PCRE2_NO_UTF_CHECK, memory.data, memory.context);
  if (found == PCRE2_ERROR_NOMATCH) return {};
  if (found < 0)
    fail("tokenizer", "a match of the pre_tokenizer's pattern must take at most ", kMostSteps, " steps and ",
         kMostStack >> 20, " MiB, got '", message_of(found), "' at byte ", from, " of a part of ",
         text.size(), " bytes. Hint: the pattern backtracks too much.");
  const PCRE2_SIZE* const place = pcre2_get_ovector_pointer(memory.data);
  return {{place[0], std::max(place[0], place[1])}};  // \K can put the beginning after the end.
}

std::string_view for_patterns(std::string_view text, std::string& changed) {
  constexpr char32_t kVowelSeparator = 0x180E;
  changed.clear();
  for (size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    const files::CodePoint c = files::first_code_point(text.substr(at));
    if (c.size == 0 || c.value == kVowelSeparator) {
      if (changed.empty()) changed = text;
      changed.replace(at, static_cast<size_t>(std::max(1, c.size)), c.size == 0 ? "\1" : "\u200B");
    }
    at += static_cast<size_t>(std::max(1, c.size));
  }
  return changed.empty() ? text : changed;
}

std::string exactly(std::string_view text) {
  std::string expression;
  for (const char c : text) {
    if (std::string_view("\\^$.[]|()?*+{}-# ").find(c) != std::string_view::npos) expression += '\\';
    expression += c;
  }
  return expression;
}

}  // namespace gradus::data::pairs
