// Interrupt: what a run does about signals.
//
// The first SIGINT, SIGTERM or SIGHUP becomes a question that the training loop asks between steps. Another
// SIGINT or SIGTERM a second or more after the first of these two ends the program at once, wherever it is,
// with kUnsaved; one that comes within the second counts as the same signal: timeout(1) signals the process
// and then its group. No SIGHUP ends it, of which a terminal that closes may send several. Signals that the
// program was started to ignore (nohup) stay ignored. At most one at a time; not thread-safe.
#pragma once

#include <signal.h>

#include <array>

namespace gradus::train {

class Interrupt {
 public:
  /// The exit code of a program that a signal has ended before it could save.
  static constexpr int kUnsaved = 4;

  /// Takes over the signals. With `at_once` the first ends the program, which says so, until wait_for_save().
  explicit Interrupt(bool at_once = false);
  ~Interrupt();  ///< gives them back
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// From now on there is something to save.
  void wait_for_save();
  /// The number of the signal that came first, or 0.
  int signal() const;

 private:
  std::array<struct sigaction, 3> before_{};
};

}  // namespace gradus::train
