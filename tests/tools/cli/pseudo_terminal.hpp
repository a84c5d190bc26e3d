// The built program at a terminal of its own, as somebody sits before it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace gradus::cli {

class PseudoTerminal {
 public:
  /// Starts `gradus` with the arguments, all three standard streams at the terminal. Throws if there can be
  /// none.
  explicit PseudoTerminal(const std::vector<std::string>& arguments);
  ~PseudoTerminal();  ///< ends the program if it still runs
  PseudoTerminal(const PseudoTerminal&) = delete;
  PseudoTerminal& operator=(const PseudoTerminal&) = delete;

  /// What somebody types; "\x03" is Ctrl-C, "\x04" Ctrl-D, "\r" the key at the end of a line.
  void type(const std::string& keys);
  /// The same once the program edits the line: what comes before that the terminal shows by itself, and a
  /// Ctrl-C then throws away.
  void type_at_prompt(const std::string& keys);
  /// What is shown from the call before up to and with `text`. Throws, with all that was shown, if it does
  /// not come.
  std::string shown_up_to(const std::string& text);
  /// Waits for the program's end; returns its exit code.
  int exit_code();

 private:
  bool read_more();

  int master_ = -1;
  pid_t process_ = -1;
  std::string shown_;  // and not yet returned
};

}  // namespace gradus::cli
