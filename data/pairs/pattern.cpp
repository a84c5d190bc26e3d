#include "gradus/data/pairs/pattern.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <stdexcept>

#include "gradus/data/pairs/words.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/utf8.hpp"

namespace gradus::data::pairs {
namespace {

constexpr uint32_t kFewSteps = 100;  // enough for usual matches
constexpr int64_t kStepsOfByte = 10;
constexpr uint32_t kMostMebibytes = 64;

std::string message_of(int error) {
  PCRE2_UCHAR message[128];
  pcre2_get_error_message(error, message, sizeof message);
  return reinterpret_cast<const char*>(message);
}

/// The memory of a thread for matches.
struct Memory {
  pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  Memory() { pcre2_set_heap_limit(context, kMostMebibytes * 1024); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
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

std::optional<std::pair<size_t, size_t>> Pattern::find(std::string_view text, size_t from,
                                                       int64_t& steps) const {
  static thread_local const Memory memory;  // Making it takes longer than a short text.
  const auto match = [&](size_t at, uint32_t most, uint32_t options) {
    pcre2_set_match_limit(memory.context, most);  // of each beginning
    return pcre2_match(code_->code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at,
                       PCRE2_NO_UTF_CHECK | options, memory.data, memory.context);
  };
  int found = match(from, kFewSteps, 0);
  // If a beginning needs more, each is tried by itself with more and more steps, which PCRE2 interprets.
  if (found == PCRE2_ERROR_JIT_STACKLIMIT) found = PCRE2_ERROR_MATCHLIMIT;
  for (size_t at = from; found == PCRE2_ERROR_MATCHLIMIT;) {
    for (uint32_t most = kFewSteps;
         (found = match(at, most, PCRE2_ANCHORED)) == PCRE2_ERROR_MATCHLIMIT && steps > 0; most *= 2)
      steps -= most;
    if (found != PCRE2_ERROR_NOMATCH || at == text.size()) break;
    at += static_cast<size_t>(files::first_code_point(text.substr(at)).size);
    found = PCRE2_ERROR_MATCHLIMIT;
  }
  if (found == PCRE2_ERROR_NOMATCH) return {};
  if (found < 0)
    fail("tokenizer", "the matches of the pre_tokenizer's pattern must take at most ", kMostSteps,
         " steps more than ", kStepsOfByte, " a byte, and ", kMostMebibytes, " MiB, got '", message_of(found),
         "' at byte ", from, " of a part of ", text.size(), " bytes. Hint: the pattern backtracks too much.");
  const PCRE2_SIZE* const place = pcre2_get_ovector_pointer(memory.data);
  steps = std::min(kMostSteps, steps + kStepsOfByte * static_cast<int64_t>(place[1] - from));
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
    const char32_t known = c.size == 0                  ? U'\1'
                           : c.value == kVowelSeparator ? U'\u200B'
                                                        : in_unicode_14(c.value);
    const auto size = static_cast<size_t>(std::max(1, c.size));
    if (c.size == 0 || known != c.value) {
      if (changed.empty()) changed = text;
      changed.replace(at, size, files::to_utf8(known));
    }
    at += size;
  }
  return changed.empty() ? text : changed;
}

}  // namespace gradus::data::pairs
