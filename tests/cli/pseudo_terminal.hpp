// The built program at a terminal of its own, as somebody sits before it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace gradus::cli {

class PseudoTerminal {
 public:
  /// Starts `gradus` with all standard streams at the terminal, or throws. `environment` has NAME=value.
  explicit PseudoTerminal(const std::vector<std::string>& arguments,
                          const std::vector<std::string>& environment = {}, int columns = 80, int rows = 24);
  ~PseudoTerminal();  ///< ends the program if it still runs
  PseudoTerminal(const PseudoTerminal&) = delete;
  PseudoTerminal& operator=(const PseudoTerminal&) = delete;

  /// Tells the program, too.
  void resize(int columns, int rows);
  /// What somebody types; "\x03" is Ctrl-C, "\x04" Ctrl-D, "\r" the key at the end of a line.
  void type(const std::string& keys);
  /// The same once the program edits the line: the terminal shows earlier input, which a Ctrl-C throws away.
  void type_at_prompt(const std::string& keys);
  /// What is shown from the call before up to and with `text`. Throws, with what was shown, if none comes.
  std::string shown_up_to(const std::string& text);
  /// Stops the program, as Ctrl-Z does; returns what was shown until then.
  std::string stop();
  void go_on();
  /// Waits for the program's end; returns its exit code.
  int exit_code();
  /// What was shown, after exit_code(), and not yet returned.
  const std::string& rest() const { return shown_; }

 private:
  bool read_more(int patience);

  int master_ = -1;
  pid_t process_ = -1;
  std::string shown_;  // and not yet returned
};

}  // namespace gradus::cli
