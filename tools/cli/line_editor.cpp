#include "line_editor.hpp"

#include <histedit.h>

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <iostream>

#include "gradus/autograd/error.hpp"

namespace gradus::cli {
namespace {

constexpr int kLinesKept = 1000;

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
  el_set(line, EL_SIGNAL, 1);  // The terminal is as it was while the program is stopped or ends.
  el_set(line, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  el_source(line, nullptr);
}

LineEditor::~LineEditor() = default;

std::optional<std::string> LineEditor::ask(const std::string& prompt) {
  state_->prompt = prompt;
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
