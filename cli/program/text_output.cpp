#include "gradus/cli/program/text_output.hpp"

#include <signal.h>
#include <utf8proc.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <map>

#include "gradus/data/stop_strings.hpp"
#include "gradus/data/tokenizer.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"
#include "gradus/files/utf8.hpp"

namespace gradus::cli {
namespace {

constexpr size_t kEnough = 1'000'000;  // bytes that are searched
constexpr size_t kLongestWord = 30;    // bytes of a word; a sentence without spaces would count as one

/// The general category of Unicode.
utf8proc_category_t category_of(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

/// Or an accent on one.
bool is_letter(char32_t c) {
  const utf8proc_category_t category = category_of(c);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_ME;
}

}  // namespace

void Messages::line(const std::string& text) const {
  if (!quiet_) std::cerr << files::plain_lines(text) << std::endl;
}

std::vector<int64_t> prompt_tokens(const data::Tokenizer& tokenizer, const std::string& prompt) {
  std::vector<int32_t> tokens = tokenizer.encode_from_start(prompt);
  if (tokens.empty()) tokens = tokenizer.has(U'\n') ? tokenizer.encode("\n") : std::vector<int32_t>{0};
  return {tokens.begin(), tokens.end()};
}

std::string write_continuation(const models::Decoder& model, const data::Tokenizer& tokenizer,
                               const std::vector<int64_t>& tokens, const models::SampleOptions& options,
                               Generator& generator, std::ostream& out, const TextEnd& end) {
  data::DecodeStream decoded(tokenizer);
  std::vector<std::string> stop = tokenizer.stop_strings();
  stop.insert(stop.end(), end.stop.begin(), end.stop.end());
  data::StopStrings wanted(stop);
  std::vector<int32_t> ends = tokenizer.eos();
  if (end.token) ends.push_back(*end.token);
  std::string text;
  const auto write = [&](const std::string& part) {
    text += part;
    out << part << std::flush;
  };
  models::generate(model, tokens, options, generator, [&](int64_t token) {
    if (std::find(ends.begin(), ends.end(), token) != ends.end()) return false;
    write(wanted.step(decoded.step(static_cast<int32_t>(token))));
    return out.good() && !wanted.found() && !(end.interrupted && end.interrupted());
  });
  write(wanted.step(decoded.finish()) + wanted.finish());
  return text;
}

void write_sample(const models::Decoder& model, const data::Tokenizer& tokenizer, const std::string& prompt,
                  const models::SampleOptions& options, Generator& generator, std::ostream& out,
                  const TextEnd& end) {
  const std::vector<int64_t> tokens = prompt_tokens(tokenizer, prompt);
  out << prompt << std::flush;
  write_continuation(model, tokenizer, tokens, options, generator, out, end);
}

std::string example_prompt(std::string_view text) {
  text = text.substr(0, kEnough);
  std::map<std::string_view, int64_t> count[2];  // of words, and of those with a capital
  size_t begin = 0;                              // the current word starts here
  for (size_t at = 0; at <= text.size();) {
    const files::CodePoint c = files::first_code_point(text.substr(at));
    const size_t next = at + static_cast<size_t>(std::max(1, c.size));
    if (c.size == 0 || !is_letter(c.value)) {
      const std::string_view word = text.substr(begin, at - begin);
      const bool is_capital = category_of(files::first_code_point(word).value) == UTF8PROC_CATEGORY_LU;
      if (!word.empty() && word.size() <= kLongestWord) ++count[is_capital ? 1 : 0][word];
      begin = next;
    }
    at = next;
  }
  const auto& words = count[count[1].empty() ? 0 : 1];
  const auto most = std::max_element(words.begin(), words.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == words.end()) return "";
  return std::string(most->first) + (text.find(' ') == text.npos ? "" : " ");
}

void EventStream::write(const std::string& line) {
  if (lost_) return;
  errno = 0;
  std::cout << line << '\n' << std::flush;
  check();
}

void EventStream::check() {
  if (std::cout || lost_) return;
  const int reason = errno;
  lost_ = true;
  gone_ = reason == EPIPE;
  std::cerr << "note: the standard output is gone (" << (reason ? std::strerror(reason) : "an error")
            << "); the run continues without it" << std::endl;
}

void EventStream::finish() {
  errno = 0;
  std::cout << std::flush;
  check();
  if (lost_ && !gone_)
    throw RunError("[train] the standard output must be writable, got an error; the run itself is saved.");
}

void turn_signals_of_writing_into_errors() {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace gradus::cli
