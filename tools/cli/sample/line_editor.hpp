// LineEditor: lines as somebody types them at a terminal, with the keys of emacs or what ~/.editrc says, and
// the lines before at the arrows. One at a time, not thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace gradus::cli {

class LineEditor {
 public:
  /// On the standard input and output, which must be a terminal of UTF-8.
  LineEditor();
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  /// Shows `prompt` and returns the line, without its end; nothing at Ctrl-D. Ctrl-C begins the
  /// line again. Other signals that end or stop the program find the terminal as it was.
  std::optional<std::string> ask(const std::string& prompt);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gradus::cli
