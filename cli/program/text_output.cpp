#include "gradus/cli/program/text_output.hpp"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iostream>

#include "gradus/data/stop_strings.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/plain.hpp"

namespace gradus::cli {

void Messages::line(const std::string& text) const {
  // As in all messages, one write, so that the lines of several processes stay apart.
  if (!quiet_) std::cerr << concat(files::plain_lines(text), "\n");
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
    if (std::ranges::find(ends, token) != ends.end()) return false;
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

void write_last_sample(const Messages& messages, bool json, const std::function<void(std::ostream&)>& write) {
  messages.line("sample\n");
  files::PlainBuffer plain(*std::cerr.rdbuf());
  std::ostream standard_error(&plain);
  std::ostream& out = json ? standard_error : std::cout;
  write(out);
  out << std::endl;
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
  std::cerr << concat("note: the standard output is gone (", reason ? std::strerror(reason) : "an error",
                      "); the run continues without it\n");
}

void EventStream::finish() {
  errno = 0;
  std::cout << std::flush;
  check();
  if (lost_ && !gone_)
    throw RunError("[train] the standard output must be writable, got an error; the run itself is saved.");
}

void turn_closed_pipes_into_errors() { ::signal(SIGPIPE, SIG_IGN); }

}  // namespace gradus::cli
