#include "gradus/data/pairs/rules.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

#include "gradus/data/pairs/words.hpp"
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

}  // namespace

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
