// Interrupt: handles the signals of a run.
//
// signal() returns the first SIGINT, SIGTERM or SIGHUP; the training loop calls it between steps. A second
// SIGINT or SIGTERM, a second or more after the first, ends the program at once with kUnsaved; an earlier one
// counts as the same signal, as timeout(1) signals the process and then its group. SIGHUP never ends it at
// once, because a closing terminal may send several. Signals that the program was started to ignore (nohup)
// stay ignored. At most one Interrupt at a time; not thread-safe.
#pragma once

#include <signal.h>

#include <array>

namespace gradus::train {

class Interrupt {
 public:
  /// The exit code after a signal if nothing was saved.
  static constexpr int kUnsaved = 4;

  /// Installs the handlers. With `at_once` the first signal ends the program until wait_for_save().
  explicit Interrupt(bool at_once = false);
  ~Interrupt();  ///< restores the previous handlers
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// From now on the first signal lets the run save.
  void wait_for_save();
  /// The number of the first signal, or 0.
  int signal() const;

 private:
  std::array<struct sigaction, 3> before_{};
};

}  // namespace gradus::train
