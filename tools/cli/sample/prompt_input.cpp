#include "gradus/tools/cli/sample/prompt_input.hpp"

#include <histedit.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cwchar>
#include <iostream>
#include <iterator>
#include <optional>
#include <utility>

#include "gradus/data/text.hpp"
#include "gradus/files/error.hpp"
#include "gradus/tools/cli/program/setting_flags.hpp"
#include "gradus/tools/cli/program/text_output.hpp"

namespace gradus::cli {
namespace {

// -- lines from a terminal

constexpr int kLinesKept = 1000;
constexpr char kCtrlD = '\4';
constexpr std::array kSignals = {SIGINT, SIGHUP, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH};

volatile sig_atomic_t noted = 0;  // the received signal
pthread_t asking;
sigset_t mask_before;  // while no line is read

void note(int signal) {
  if (pthread_equal(pthread_self(), asking))
    noted = signal;
  else
    pthread_kill(asking, signal);  // The reading thread must wake up.
}

/// During its lifetime, signals arrive only in wait_for_key(), which records them: a handler may run on any
/// thread and cannot restore the terminal. Ignored signals stay ignored.
class NotedSignals {
 public:
  NotedSignals() {
    asking = pthread_self();
    noted = 0;
    sigset_t all;
    sigemptyset(&all);
    struct sigaction action = {};
    action.sa_handler = note;
    for (size_t i = 0; i < kSignals.size(); ++i) {
      ::sigaction(kSignals[i], nullptr, &before_[i]);
      if (before_[i].sa_handler == SIG_IGN) continue;
      sigaddset(&all, kSignals[i]);
      ::sigaction(kSignals[i], &action, nullptr);
    }
    pthread_sigmask(SIG_BLOCK, &all, &mask_before);
  }
  ~NotedSignals() {
    for (size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
    pthread_sigmask(SIG_SETMASK, &mask_before, nullptr);
  }
  NotedSignals(const NotedSignals&) = delete;
  NotedSignals& operator=(const NotedSignals&) = delete;

  /// Returns the signal that arrived before a key, or 0.
  static int wait_for_key() {
    pollfd input = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    noted = 0;
    while (::ppoll(&input, 1, nullptr, &mask_before) < 0 && noted == 0 && errno == EINTR) {
    }  // Other signals, such as SIGCONT, are ignored.
    return noted;
  }

 private:
  std::array<struct sigaction, kSignals.size()> before_{};
};

/// Performs the default action of the signal: ends the program, or stops it until it is continued.
void obey(int signal) {
  struct sigaction action = {}, before;
  action.sa_handler = SIG_DFL;
  ::sigaction(signal, &action, &before);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  ::raise(signal);
  pthread_sigmask(SIG_BLOCK, &one, nullptr);
  ::sigaction(signal, &before, nullptr);
}

/// Reads the next character for libedit. Returns 1, 0 at the end, -1 for an error or Ctrl-C.
int read_character(EditLine* line, wchar_t* character) {
  std::mbstate_t state{};
  for (;;) {
    switch (const int signal = NotedSignals::wait_for_key()) {
      case 0:
        break;
      case SIGINT:
        errno = EINTR;
        return -1;
      case SIGWINCH:
        el_resize(line);
        continue;
      default:
        el_set(line, EL_PREP_TERM, 0);  // restores the terminal
        obey(signal);
        el_set(line, EL_PREP_TERM, 1);
        el_set(line, EL_REFRESH);
        continue;
    }
    char byte;
    const ssize_t size = ::read(STDIN_FILENO, &byte, 1);
    if (size <= 0) return static_cast<int>(size);
    if (byte == '\0') byte = kCtrlD;  // a Ctrl-D that was typed before the prompt
    constexpr auto kBroken = static_cast<size_t>(-1), kPart = static_cast<size_t>(-2);
    const bool is_within = std::mbsinit(&state) == 0;
    size_t used = std::mbrtowc(character, &byte, 1, &state);
    if (used == kBroken && is_within) {  // This byte may begin a character.
      state = {};
      used = std::mbrtowc(character, &byte, 1, &state);
    }
    if (used == kPart) continue;
    if (used != kBroken) return 1;
    state = {};  // Bytes that are not UTF-8 are omitted.
  }
}

/// Reads lines at a UTF-8 terminal, with the keys of emacs or ~/.editrc, and earlier lines by the arrow keys.
/// At most one may exist; not thread-safe.
class LineEditor {
 public:
  LineEditor() {
    std::setlocale(LC_CTYPE, "C.UTF-8");  // libedit's encoding of the input
    line_ = el_init("gradus", stdin, stdout, stderr);
    history_ = history_init();
    if (!line_ || !history_)
      throw RunError("[sample] the terminal must be one that lines can be typed at, got an error.");
    HistEvent event;
    history(history_, &event, H_SETSIZE, kLinesKept);
    history(history_, &event, H_SETUNIQUE, 1);
    el_set(line_, EL_CLIENTDATA, this);
    el_set(line_, EL_PROMPT, &prompt_of);
    el_set(line_, EL_HIST, history, history_);
    el_set(line_, EL_EDITOR, "emacs");
    el_set(line_, EL_GETCFN, &read_character);
    el_set(line_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    el_source(line_, nullptr);
  }
  ~LineEditor() {
    if (line_) el_end(line_);
    if (history_) history_end(history_);
  }
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  /// Shows `prompt` and returns the line, without its end; nothing at Ctrl-D. Ctrl-C starts the line again.
  /// Other signals that end or stop the program restore the terminal first.
  std::optional<std::string> ask(const std::string& prompt) {
    prompt_ = prompt;
    const NotedSignals noted_signals;
    for (;;) {
      std::cout << std::flush;
      el_set(line_, EL_PREP_TERM, 1);  // before the prompt, because a key may follow at once
      int size = 0;
      const char* typed = el_gets(line_, &size);
      if (!typed && size < 0 && errno == EINTR) {
        std::cout << "^C" << std::endl;
        continue;
      }
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
  }

 private:
  static char* prompt_of(EditLine* line) {
    void* editor = nullptr;
    el_get(line, EL_CLIENTDATA, &editor);
    return static_cast<LineEditor*>(editor)->prompt_.data();
  }

  EditLine* line_ = nullptr;
  History* history_ = nullptr;
  std::string prompt_;
};

// -- Ctrl-C while a text is written

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
  std::string bytes = piped ? std::string(std::istreambuf_iterator<char>(std::cin), {}) : flag;
  return clean_prompt(piped ? kPiped : "--prompt", std::move(bytes), tokenizer);
}

std::optional<std::string> read_prompt_line(const data::Tokenizer& tokenizer) {
  std::string line;
  if (!std::getline(std::cin, line)) return {};
  return clean_prompt(kPiped, std::move(line), tokenizer);
}

void sample_session(const data::Tokenizer& tokenizer, const std::string& greeting, const WriteText& write) {
  const Messages messages(false);
  messages.line(greeting);
  const InterruptFlag guard;
  LineEditor editor;
  while (const std::optional<std::string> line = editor.ask("> ")) {
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
