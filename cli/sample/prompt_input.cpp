#include "gradus/cli/sample/prompt_input.hpp"

#include <signal.h>

#ifdef GRADUS_LIBEDIT
#include <histedit.h>
#endif

#include <atomic>
#include <clocale>
#include <cstdio>
#include <iostream>
#include <utility>

#include "gradus/cli/program/setting_flags.hpp"
#include "gradus/cli/program/text_output.hpp"
#include "gradus/data/text.hpp"
#include "gradus/files/error.hpp"
#include "gradus/files/file.hpp"

namespace gradus::cli {
namespace {

#ifdef GRADUS_LIBEDIT
/// Reads lines at a UTF-8 terminal, with the keys of emacs or ~/.editrc, and earlier lines by the arrow keys.
/// Signals that end or stop the program restore the terminal first. At most one may exist; not thread-safe.
class LineEditor {
 public:
  LineEditor() {
    std::setlocale(LC_CTYPE, "C.UTF-8");  // libedit's encoding of the input
    line_ = el_init("gradus", stdin, stdout, stderr);
    history_ = history_init();
    if (!line_ || !history_)
      throw RunError("[sample] the terminal must be one that lines can be typed at, got an error.");
    HistEvent event;
    history(history_, &event, H_SETSIZE, 1000);
    history(history_, &event, H_SETUNIQUE, 1);
    el_set(line_, EL_CLIENTDATA, this);
    el_set(line_, EL_PROMPT, &prompt);
    el_set(line_, EL_HIST, history, history_);
    el_set(line_, EL_EDITOR, "emacs");
    el_set(line_, EL_SIGNAL, 1);
    el_set(line_, EL_SETTY, "-d", "-isig", nullptr);  // Ctrl-C and Ctrl-Z are keys here, not signals.
    el_set(line_, EL_ADDFN, "start-again", "Start the line again", &start_again);
    el_set(line_, EL_ADDFN, "suspend", "Stop the program", &suspend);
    constexpr std::pair<const char*, const char*> kKeys[] = {
        {"^C", "start-again"},
        {"^Z", "suspend"},
        {"^R", "em-inc-search-prev"},
        {"^@", "ed-end-of-file"}};  // a Ctrl-D that was typed before the prompt
    for (const auto& [key, function] : kKeys) el_set(line_, EL_BIND, key, function, nullptr);
    el_source(line_, nullptr);
  }
  ~LineEditor() {
    if (line_) el_end(line_);
    if (history_) history_end(history_);
  }
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  /// Shows a prompt and returns the line, without its end; nothing at Ctrl-D. Ctrl-C starts the line again.
  std::optional<std::string> ask() {
    const char* typed = nullptr;
    int size = 0;
    do {
      is_again_ = false;
      std::cout << std::flush;
      el_set(line_, EL_PREP_TERM, 1);  // before the prompt, because a key may follow at once
      typed = el_gets(line_, &size);
    } while (is_again_);
    if (!typed || size <= 0) {
      std::cout << std::endl;
      return {};
    }
    std::string text(typed, static_cast<size_t>(size));
    if (text.ends_with('\n')) text.pop_back();
    HistEvent event;
    if (!text.empty()) history(history_, &event, H_ENTER, text.c_str());
    return text;
  }

 private:
  static char* prompt(EditLine*) { return const_cast<char*>("> "); }
  static unsigned char start_again(EditLine* line, int) {
    void* editor = nullptr;
    el_get(line, EL_CLIENTDATA, &editor);
    static_cast<LineEditor*>(editor)->is_again_ = true;
    std::cout << "^C" << std::endl;
    return CC_NEWLINE;
  }
  static unsigned char suspend(EditLine*, int) {
    ::raise(SIGTSTP);
    return CC_REDISPLAY;
  }

  EditLine* line_ = nullptr;
  History* history_ = nullptr;
  bool is_again_ = false;
};
#else
struct LineEditor {
  std::optional<std::string> ask() {
    std::cout << "> " << std::flush;
    return files::read_standard_line();
  }
};
#endif

std::atomic<bool> was_interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may touch nothing else");

extern "C" void on_interrupt(int) { was_interrupted = true; }

/// During its lifetime, Ctrl-C sets `was_interrupted` and does not end the program.
class InterruptFlag {
 public:
  InterruptFlag() {
    struct sigaction action = {};
    action.sa_handler = on_interrupt;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    ::sigaction(SIGINT, &action, &before_);
  }
  ~InterruptFlag() { ::sigaction(SIGINT, &before_, nullptr); }
  InterruptFlag(const InterruptFlag&) = delete;
  InterruptFlag& operator=(const InterruptFlag&) = delete;

 private:
  struct sigaction before_ = {};
};

constexpr const char* kPiped = "the prompt on the standard input";

/// A prompt as a text for that tokenizer. Throws Error as data::make_text(), with `name` as its name, and as
/// Tokenizer::encode().
std::string clean_prompt(const std::string& name, std::string bytes, const data::Tokenizer& tokenizer) {
  for (const char end : {'\n', '\r'})
    if (name == kPiped && bytes.ends_with(end)) bytes.pop_back();
  std::string prompt = data::make_text({{name, std::move(bytes)}}, data::TextRules::of(tokenizer)).text;
  (void)tokenizer.encode(prompt);
  return prompt;
}

}  // namespace

std::string read_prompt(const std::string& flag, const data::Tokenizer& tokenizer) {
  const bool piped = flag == "-";
  std::string bytes = piped ? files::read_standard_input() : flag;
  return clean_prompt(piped ? kPiped : "--prompt", std::move(bytes), tokenizer);
}

std::optional<std::string> read_prompt_line(const data::Tokenizer& tokenizer) {
  std::optional<std::string> line = files::read_standard_line();
  if (!line) return {};
  return clean_prompt(kPiped, std::move(*line), tokenizer);
}

void sample_session(const data::Tokenizer& tokenizer, const std::string& greeting, const WriteText& write) {
  const Messages messages(false);
  messages.line(greeting);
  const InterruptFlag guard;
  LineEditor editor;
  while (const std::optional<std::string> line = editor.ask()) {
    was_interrupted = false;
    try {
      write(clean_prompt("the prompt", *line, tokenizer), [] { return was_interrupted.load(); });
    } catch (const RunError&) {
      throw;
    } catch (const Error& e) {  // The prompt is wrong; the flags were checked before.
      messages.line(
          concat("gradus: ", e.message([](std::string_view name) { return flag_of(name, nullptr); })));
    }
  }
}

}  // namespace gradus::cli
