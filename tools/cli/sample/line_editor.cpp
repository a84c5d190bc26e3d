#include "gradus/tools/cli/sample/line_editor.hpp"

#include <histedit.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cwchar>
#include <iostream>

#include "gradus/files/error.hpp"

namespace gradus::cli {
namespace {

constexpr int kLinesKept = 1000;
constexpr char kCtrlD = '\4';
constexpr std::array kSignals = {SIGINT, SIGHUP, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH};

volatile sig_atomic_t noted = 0;  // the signal that has come
pthread_t asking;
sigset_t mask_before;  // what is blocked while nobody asks

void note(int signal) {
  if (pthread_equal(pthread_self(), asking))
    noted = signal;
  else
    pthread_kill(asking, signal);  // Whichever thread it comes to, the one that reads must wake up.
}

/// While it lives, signals only come while wait_for_key() waits, and are noted: what the terminal must be
/// then is nothing for a handler, which may run on any thread. Those that are ignored stay so.
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

  /// Returns the signal that came before a key, or 0.
  static int wait_for_key() {
    pollfd input = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    noted = 0;
    while (::ppoll(&input, 1, nullptr, &mask_before) < 0 && noted == 0 && errno == EINTR) {
    }  // Another signal, as SIGCONT, is nobody's.
    return noted;
  }

 private:
  std::array<struct sigaction, kSignals.size()> before_{};
};

/// Does what the signal does to a program that does not mind it: ends it, or stops it until it is to go on.
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

/// The next character that is typed, as libedit asks for it: 1, 0 at the end, -1 for an error or Ctrl-C.
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
        el_set(line, EL_PREP_TERM, 0);  // The terminal is then as it was.
        obey(signal);
        el_set(line, EL_PREP_TERM, 1);
        el_set(line, EL_REFRESH);
        continue;
    }
    char byte;
    const ssize_t size = ::read(STDIN_FILENO, &byte, 1);
    if (size <= 0) return static_cast<int>(size);
    if (byte == '\0') byte = kCtrlD;  // So comes one that was typed before there was a prompt.
    constexpr auto kBroken = static_cast<size_t>(-1), kPart = static_cast<size_t>(-2);
    const bool is_within = std::mbsinit(&state) == 0;
    size_t used = std::mbrtowc(character, &byte, 1, &state);
    if (used == kBroken && is_within) {  // The part before is left out; this byte may begin a character.
      state = {};
      used = std::mbrtowc(character, &byte, 1, &state);
    }
    if (used == kPart) continue;
    if (used != kBroken) return 1;
    state = {};  // What is no UTF-8 is left out.
  }
}

}  // namespace

struct LineEditor::State {
  EditLine* line = nullptr;
  History* history = nullptr;
  std::string prompt;

  ~State() {
    if (line) el_end(line);
    if (history) history_end(history);
  }
  static State& of(EditLine* line) {
    void* state = nullptr;
    el_get(line, EL_CLIENTDATA, &state);
    return *static_cast<State*>(state);
  }
  static char* prompt_of(EditLine* line) { return of(line).prompt.data(); }
};

LineEditor::LineEditor() : state_(std::make_unique<State>()) {
  std::setlocale(LC_CTYPE, "C.UTF-8");  // which libedit asks what the bytes that are typed mean
  state_->line = el_init("gradus", stdin, stdout, stderr);
  state_->history = history_init();
  if (!state_->line || !state_->history)
    throw RunError("[sample] the terminal must be one that lines can be typed at, got an error.");
  HistEvent event;
  history(state_->history, &event, H_SETSIZE, kLinesKept);
  history(state_->history, &event, H_SETUNIQUE, 1);

  EditLine* line = state_->line;
  el_set(line, EL_CLIENTDATA, state_.get());
  el_set(line, EL_PROMPT, &State::prompt_of);
  el_set(line, EL_HIST, history, state_->history);
  el_set(line, EL_EDITOR, "emacs");
  el_set(line, EL_GETCFN, &read_character);
  el_set(line, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  el_source(line, nullptr);
}

LineEditor::~LineEditor() = default;

std::optional<std::string> LineEditor::ask(const std::string& prompt) {
  state_->prompt = prompt;
  const NotedSignals noted_signals;
  for (;;) {
    std::cout << std::flush;
    el_set(state_->line, EL_PREP_TERM, 1);  // before the prompt, at which a key may come at once
    int size = 0;
    const char* typed = el_gets(state_->line, &size);
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
    if (!text.empty()) history(state_->history, &event, H_ENTER, text.c_str());
    return text;
  }
}

}  // namespace gradus::cli
