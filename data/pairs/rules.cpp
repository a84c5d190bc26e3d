#include "gradus/data/pairs/rules.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <time.h>
#include <utf8proc.h>

#include <algorithm>
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

/// Appends the NFC of `text`, which must be UTF-8. utf8proc orders n marks in n^2 steps, unless they are in
/// order already.
void add_nfc(std::string_view text, std::string& result) {
  constexpr auto kOptions = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  const auto mark = [](utf8proc_int32_t c) { return utf8proc_get_property(c)->combining_class; };
  std::vector<utf8proc_int32_t> all;
  for (int size = 0; !text.empty(); text.remove_prefix(static_cast<size_t>(size))) {
    const files::CodePoint c = files::first_code_point(text);
    size = c.size;
    utf8proc_int32_t parts[8];
    int unused = 0;
    const utf8proc_ssize_t count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c.value), parts,
                                                           std::ssize(parts), kOptions, &unused);
    all.insert(all.end(), parts, parts + std::clamp<utf8proc_ssize_t>(count, 0, std::ssize(parts)));
  }
  for (auto begin = all.begin(); begin != all.end(); ++begin) {
    const auto end = std::find_if(begin, all.end(), [&](utf8proc_int32_t c) { return mark(c) == 0; });
    std::stable_sort(begin, end, [&](utf8proc_int32_t x, utf8proc_int32_t y) { return mark(x) < mark(y); });
    if ((begin = end) == all.end()) break;
  }
  all.push_back(0);  // for utf8proc's zero byte
  const utf8proc_ssize_t size = utf8proc_reencode(all.data(), std::ssize(all) - 1, kOptions);
  result.append(reinterpret_cast<const char*>(all.data()),
                static_cast<size_t>(std::max<utf8proc_ssize_t>(size, 0)));
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

constexpr uint32_t kMostMebibytes = 64;
constexpr size_t kWindow = 256;               // bytes of a text that a compiled program sees at once
constexpr uint32_t kMostOfProgram = 100'000;  // steps, of those that a program counts

double processor_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// PCRE2 calls it at each item of an interpreted pattern. `data` points to the time at which matching ends.
int end_in_time(pcre2_callout_block*, void* data) {
  static thread_local unsigned calls = 0;
  return ++calls % 64 == 0 && processor_seconds() > *static_cast<const double*>(data) ? PCRE2_ERROR_CALLOUT
                                                                                      : 0;
}

/// Whether the matches of a pattern at one beginning take at most n^2 steps for n bytes: it has no references
/// to what it has matched, repeats no group, and has at most two long repeats between bars outside of groups.
bool is_quick(std::string_view expression) {
  if (expression.starts_with("\\Q")) return expression.find("\\E") == expression.size() - 2;  // a text
  const auto is_in = [](char c, std::string_view set) { return set.find(c) != set.npos; };
  int repeats = 0, depth = 0;
  bool in_class = false, is_repeated = false;  // what precedes
  for (size_t at = 0; at < expression.size(); ++at) {
    const char c = expression[at];
    const std::string_view rest = expression.substr(at + 1);
    const char next = rest.empty() ? '\0' : rest[0];
    if (c == '\\') {
      if (!in_class && is_in(next, "123456789kg")) return false;
      at += is_in(next, "pPxo") && rest.substr(1).starts_with('{') ? std::min(rest.find('}'), rest.size()) + 1
                                                                   : 1;
      is_repeated = false;
    } else if (in_class || c == '[') {
      in_class = c != ']' || expression[at - 1] == '[';
      is_repeated = false;
    } else if (is_in(c, "*+{")) {
      const size_t end = std::min(rest.find('}'), rest.size());
      const bool is_short = c == '{' && end <= 3 && end > 0 && rest[end - 1] != ',';  // {1,3}
      repeats += is_repeated || is_short ? 0 : 1;  // a*+ and a*? are one repeat
      is_repeated = !is_repeated;
    } else {
      if (c == '(' && next == '?' && is_in(rest.size() > 1 ? rest[1] : '\0', "(0123456789R&P+-"))
        return false;
      if (c == ')' && is_in(next, "*+{")) return false;
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
      if (c == '|' && depth == 0) repeats = 0;
      is_repeated = c == '?';
    }
    if (repeats > 2) return false;
  }
  return true;
}

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

/// The first part of an expression that Oniguruma, for which tokenizer.json is written, reads otherwise than
/// PCRE2; empty if there is none.
std::string read_otherwise(std::string_view expression) {
  bool in_class = false;
  for (size_t i = 0; i < expression.size(); ++i) {
    const std::string_view rest = expression.substr(i);
    if (rest[0] == '\\' && rest.size() > 1) {
      if (std::string_view("hHK").find(rest[1]) != rest.npos) return std::string(rest.substr(0, 2));
      i += rest[1] == 'Q' ? std::min(rest.find("\\E"), rest.size()) : 1;  // a literal of gradus
      continue;
    }
    in_class = rest[0] == '[' || (in_class && rest[0] != ']');
    if (in_class && rest.starts_with("&&")) return "&&";
    if (in_class) continue;
    if (rest.starts_with("{,")) return "{,";
    const std::string_view flags = rest.substr(0, rest.find_first_not_of("(?imsx-"));
    if (flags.starts_with("(?") && flags.find('m') != flags.npos) return "(?m";
  }
  return "";
}

}  // namespace

/// An expression that PCRE2 has compiled.
class Pattern {
 public:
  /// See compiled().
  explicit Pattern(const std::string& expression);
  ~Pattern() {
    pcre2_code_free(code_);
    pcre2_code_free(interpreted_);
  }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  /// The beginning and the end of the first match at or after `from`. `text` must be UTF-8. Throws Error if
  /// the thread's processor time goes beyond `deadline`.
  std::optional<std::pair<size_t, size_t>> find(std::string_view text, size_t from, double deadline) const;

 private:
  pcre2_code *code_ = nullptr, *interpreted_ = nullptr;
};

Pattern::Pattern(const std::string& expression) {
  if (const std::string other = read_otherwise(expression); !other.empty())
    throw std::invalid_argument(concat(other, " means something else in Oniguruma than in PCRE2"));
  int error = 0;
  PCRE2_SIZE offset = 0;
  for (const bool is_compiled : {true, false})
    (is_compiled ? code_ : interpreted_) =
        pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression.data()), expression.size(),
                      PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C |
                          (is_compiled ? 0 : PCRE2_AUTO_CALLOUT),
                      &error, &offset, nullptr);
  if (code_ == nullptr || interpreted_ == nullptr)
    throw std::invalid_argument(concat(message_of(error), " at byte ", offset));
  if (!is_quick(expression) || pcre2_jit_compile(code_, PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD) != 0)
    pcre2_code_free(std::exchange(code_, nullptr));  // or without memory for programs
}

// A program that PCRE2 compiles cannot be stopped, so that it sees a window of the text. Where a match needs
// the bytes after it (a partial match), the window grows; a long one is matched by the interpreter.
std::optional<std::pair<size_t, size_t>> Pattern::find(std::string_view text, size_t from,
                                                       double deadline) const {
  static thread_local const Memory memory;  // Making it takes longer than a short text.
  static thread_local unsigned calls = 0;
  pcre2_set_callout(memory.context, end_in_time, &deadline);
  for (size_t window = kWindow;;) {
    // Without a program, the interpreter sees the whole text.
    size_t end = code_ && text.size() - from > window ? from + window : text.size();
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    const bool is_first = !code_ || window == kWindow, is_compiled = code_ && is_first;
    const uint32_t options =
        PCRE2_NO_UTF_CHECK | (end < text.size() ? PCRE2_PARTIAL_HARD : 0) | (is_first ? 0 : PCRE2_ANCHORED);
    pcre2_set_match_limit(memory.context, is_compiled ? kMostOfProgram : UINT32_MAX);
    const bool is_late = (++calls % 64 == 0 || !is_first || !code_) && processor_seconds() > deadline;
    const int found =
        is_late ? PCRE2_ERROR_CALLOUT
                : pcre2_match(is_compiled ? code_ : interpreted_, reinterpret_cast<PCRE2_SPTR>(text.data()),
                              end, from, options, memory.data, memory.context);
    const PCRE2_SIZE* const place = pcre2_get_ovector_pointer(memory.data);
    // An empty match at the end of a window is none: it has not seen the next byte.
    if (found >= 0 && (end == text.size() || place[0] < end))
      return {{place[0], std::max(place[0], place[1])}};  // \K can put the beginning after the end.
    if (found == PCRE2_ERROR_PARTIAL) {
      window = place[0] > from ? kWindow : 2 * window;
      from = std::max(from, place[0]);
    } else if (found == PCRE2_ERROR_NOMATCH || found >= 0) {
      if (end == text.size() && (is_first || from == end)) return {};
      from = is_first ? end : from + static_cast<size_t>(files::first_code_point(text.substr(from)).size);
      window = kWindow;
    } else if (is_compiled && (found == PCRE2_ERROR_JIT_STACKLIMIT || found == PCRE2_ERROR_MATCHLIMIT)) {
      window = 2 * kWindow;
    } else {
      fail("tokenizer", "the matches of the pre_tokenizer's pattern must take at most ", kMostSeconds,
           " s and ", kSecondsOfByte, " s a byte, and ", kMostMebibytes, " MiB, got '", message_of(found),
           "' at byte ", from, " of a part of ", text.size(),
           " bytes. Hint: the pattern backtracks too much.");
    }
  }
}

std::shared_ptr<const Pattern> compiled(const std::string& expression) {
  return std::make_shared<const Pattern>(expression);
}

[[noreturn]] static void refuse_growth(size_t most) {
  fail("tokenizer", "the normalizer must make at most ", most, " bytes of a text, ", kMostGrowth,
       " times its size, got more.");
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to, size_t most) {
  std::string result;
  result.reserve(std::min(text.size() + text.size() / 2, most));
  for (size_t done = 0;;) {
    const size_t at = text.find(from, done);
    const std::string_view before = text.substr(done, at == text.npos ? at : at - done);
    if (result.size() + before.size() + to.size() > most) refuse_growth(most);
    result += before;
    if (at == text.npos) return result;
    result += to;
    done = at + from.size();
  }
}

std::string normalized(std::string_view text, const std::vector<Normalization>& steps) {
  constexpr size_t kFewBytes = 64;
  const size_t most = kFewBytes + kMostGrowth * text.size();
  std::string result(text);
  for (const Normalization& step : steps) {
    if (step.kind == Normalization::Kind::nfc)
      result = nfc(result);
    else if (step.kind == Normalization::Kind::replace)
      result = replaced(result, step.from, step.to, most);
    else if (!result.empty())
      result.size() + step.to.size() > most ? refuse_growth(most) : void(result.insert(0, step.to));
  }
  return result;
}

void Splitter::words(std::string_view text, const Use& use) {
  const bool matches = std::ranges::any_of(splits_, [](const Split& one) { return one.pattern != nullptr; });
  if (matches) {
    if (deadline_ == 0) deadline_ = processor_seconds() + kMostSeconds;
    deadline_ += kSecondsOfByte * static_cast<double>(text.size());
  }
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
    const auto match = split.pattern->find(same_classes, from, deadline_);
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
