// Interrupt: turns the first SIGINT or SIGTERM into a question that the training loop asks between steps; a
// second one ends the program at once. At most one at a time; not thread-safe.
#pragma once

namespace gradus::cli {

class Interrupt {
 public:
  Interrupt();   ///< takes over both signals
  ~Interrupt();  ///< gives them back
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// The number of the signal that came, or 0.
  int signal() const;
};

}  // namespace gradus::cli
