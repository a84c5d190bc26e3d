#include "gradus/data/pairs/rules.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

#include "gradus/data/pairs/words.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/utf8.hpp"

namespace gradus::data::pairs {
namespace {

/// Below it, every character is in NFC, composes with none before it, and has the combining class 0.
constexpr char32_t kFirstMark = 0x300;

/// Appends the NFC of `text`, which must be UTF-8.
void add_nfc(std::string_view text, std::string& result) {
  utf8proc_uint8_t* composed = nullptr;
  const utf8proc_ssize_t size = utf8proc_map(
      reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
      &composed, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(composed, &std::free);
  if (size < 0) throw std::bad_alloc();
  result.append(reinterpret_cast<const char*>(composed), static_cast<size_t>(size));
}

std::string nfc(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  size_t done = 0, last = 0;  // last: where the latest character below kFirstMark begins
  for (size_t at = 0; at < text.size();) {
    const files::CodePoint c = files::first_code_point(text.substr(at));
    if (c.value < kFirstMark) {  // or a byte that is not UTF-8
      last = c.size == 0 ? at + 1 : at;
      at += c.size == 0 ? 1 : static_cast<size_t>(c.size);
      continue;
    }
    result += text.substr(done, last - done);
    size_t end = at;
    for (files::CodePoint next = c; next.value >= kFirstMark;
         next = files::first_code_point(text.substr(end)))
      end += static_cast<size_t>(next.size);
    add_nfc(text.substr(last, end - last), result);
    done = last = at = end;
  }
  return result += text.substr(done);
}

// -- patterns

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

/// A text for patterns, of the same length and, character by character, the same classes: bytes that are not
/// UTF-8 become U+0001, U+180E, which counts as white space in PCRE2 only, U+200B, and others what they are
/// in_unicode_14(). `changed` has the memory for it.
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

}  // namespace

/// An expression that PCRE2 has compiled.
class Pattern {
 public:
  /// See compiled().
  explicit Pattern(const std::string& expression);
  ~Pattern() { pcre2_code_free(code_); }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  /// The beginning and the end of the first match at or after `from`. `text` must be UTF-8. `steps` must be
  /// kMostSteps before the first match of a text. Throws Error if the matches take too many.
  std::optional<std::pair<size_t, size_t>> find(std::string_view text, size_t from, int64_t& steps) const;

 private:
  pcre2_code* code_ = nullptr;
};

Pattern::Pattern(const std::string& expression) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  code_ = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression.data()), expression.size(),
                        PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error, &offset,
                        nullptr);
  if (code_ == nullptr) throw std::invalid_argument(concat(message_of(error), " at byte ", offset));
  pcre2_jit_compile(code_, PCRE2_JIT_COMPLETE);  // Without memory for programs PCRE2 interprets.
}

std::optional<std::pair<size_t, size_t>> Pattern::find(std::string_view text, size_t from,
                                                       int64_t& steps) const {
  static thread_local const Memory memory;  // Making it takes longer than a short text.
  const auto match = [&](size_t at, uint32_t most, uint32_t options) {
    pcre2_set_match_limit(memory.context, most);  // of each beginning
    return pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at,
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

std::shared_ptr<const Pattern> compiled(const std::string& expression) {
  return std::make_shared<const Pattern>(expression);
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  result.reserve(text.size() + text.size() / 2);
  for (size_t done = 0;;) {
    const size_t at = text.find(from, done);
    result += text.substr(done, at == text.npos ? at : at - done);
    if (at == text.npos) return result;
    result += to;
    done = at + from.size();
  }
}

std::string normalized(std::string_view text, const std::vector<Normalization>& steps) {
  std::string result(text);
  for (const Normalization& step : steps) {
    if (step.kind == Normalization::Kind::nfc)
      result = nfc(result);
    else if (step.kind == Normalization::Kind::replace)
      result = replaced(result, step.from, step.to);
    else if (!result.empty())
      result.insert(0, step.to);
  }
  return result;
}

void Splitter::words(std::string_view text, const Use& use) {
  const bool matches =
      std::any_of(splits_.begin(), splits_.end(), [](const Split& one) { return one.pattern; });
  cut(0, text, matches ? for_patterns(text, changed_) : text, use);
}

void Splitter::cut(size_t level, std::string_view part, std::string_view same_classes, const Use& use) {
  if (part.empty()) return;
  if (level == splits_.size()) return use(part);
  const auto add = [&](size_t begin, size_t end) {
    cut(level + 1, part.substr(begin, end - begin), same_classes.substr(begin, end - begin), use);
  };
  const Split& split = splits_[level];
  size_t done = 0;
  if (!split.pattern)
    for (size_t size = 0; (size = first_word(part.substr(done))) > 0; done += size) add(done, done + size);
  using Behavior = Split::Behavior;
  for (size_t from = 0; split.pattern && from <= part.size();) {
    const auto match = split.pattern->find(same_classes, from, steps_);
    if (!match) break;
    const size_t begin = split.behavior == Behavior::merged_with_previous ? done : match->first;
    if (split.behavior != Behavior::matches) add(done, begin);
    add(begin, match->second);
    from = done = match->second;
    if (match->first == match->second) {  // An empty match: the next one begins a character later.
      const int size = from < part.size() ? files::first_code_point(same_classes.substr(from)).size : 1;
      from += static_cast<size_t>(size);
    }
  }
  if (split.behavior != Behavior::matches) add(done, part.size());
}

}  // namespace gradus::data::pairs
