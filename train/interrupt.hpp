// Interrupt: what a run does about signals.
//
// The first SIGINT, SIGTERM or SIGHUP becomes a question that the training loop asks between steps. A second
// SIGINT or SIGTERM ends the program at once, wherever it is; not so SIGHUP, of which a terminal that closes
// may send several, nor the first of the two after it. Signals that the program was started to ignore
// (nohup) stay ignored. At most one at a time; not thread-safe.
#pragma once

#include <signal.h>

#include <array>

namespace gradus::train {

class Interrupt {
 public:
  Interrupt();   ///< takes over the signals
  ~Interrupt();  ///< gives them back
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// The number of the signal that came first, or 0.
  int signal() const;

 private:
  std::array<struct sigaction, 3> before_{};
};

}  // namespace gradus::train
